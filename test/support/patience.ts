/** How long tests wait before they call something hanging. */

/**
 * Milliseconds, as a test gives them for a machine that has nothing else to do, made those of one that has: the suite keeps it busy, and a
 * shared machine has a fraction of its speed at times. Only what bounds a wait; what a test measures is compared with its own number.
 * The factor is jest's (jest.config.js), which gives each test and hook as much more (patient-environment.js).
 */
export function patient(milliseconds: number): number {
  return milliseconds * ((globalThis as { readonly PATIENCE?: number }).PATIENCE ?? 1);
}
