import { describe, expect, it } from '@jest/globals';
import pc from 'picocolors';

import { readableLine } from '../../../worker/log.ts';

const plain = pc.createColors(false);

describe('the log on a terminal', () => {
  it('has the time, the message and the fields, and not what everybody knows', () => {
    const json = JSON.stringify({
      level: 30,
      time: new Date(2026, 0, 2, 3, 4, 5).getTime(),
      cluster: 'default',
      workload: 'web',
      looks: [1, 2],
      msg: 'rollout started',
    });
    expect(readableLine(`${json}\n`, plain)).toBe('03:04:05 rollout started  workload=web  looks=[1,2]\n');
  });

  it('obeys nothing that somebody wrote into a reason', () => {
    const json = JSON.stringify({
      level: 30,
      time: 0,
      reason: 'a\u001b[2J\u001b]0;title\u0007b\nfake line\u202e',
      by: { name: 'eve\u009b2J\u202e' },
      'key\u001b[31m': 1,
      msg: 'rollout\u001b[1A ended\r\nfake',
    });
    const line = readableLine(json, plain);
    expect(line.slice(9)).toBe(
      'rollout ended fake  reason=ab fake line  by={"name":"eve\\u009b2J\\u202e"}  key=1\n',
    );
  });

  it('paints warnings and errors', () => {
    const colors = pc.createColors(true);
    const line = (level: number) => readableLine(JSON.stringify({ level, time: 0, msg: 'lost' }), colors);
    expect(line(30)).not.toContain(colors.yellow('lost'));
    expect(line(40)).toContain(colors.yellow('lost'));
    expect(line(50)).toContain(colors.red('lost'));
  });
});
