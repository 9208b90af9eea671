/** Processor time of this process, milliseconds: other than a clock's it does not grow while the machine is busy with others. */
export function cpuTime(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}
