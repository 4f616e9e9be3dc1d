import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  claimableIn,
  leaseTimes,
  type SeenLease,
  seenAgain,
  trustedUntil,
} from '../../src/copies/postgres/lease.rules.ts';

const times = leaseTimes;
const row = { term: 3, holder: 'a', beat: 7 };

describe('a lease', () => {
  it('needs room for one late renewal', () => {
    const { lease, renew, margin } = leaseTimes;
    expect(lease).toBeGreaterThanOrEqual(2 * renew + margin);
  });

  it('can be claimed once it has not changed for its whole length, or was resigned', () => {
    const first = seenAgain(null, row, 100);
    expect(claimableIn(first, 100, times)).toBe(5000);
    expect(seenAgain(first, row, 4000)).toEqual(first);
    expect(claimableIn(first, 5100, times)).toBe(0);
    for (const changed of [{ beat: 8 }, { term: 4 }, { holder: 'b' }])
      expect(claimableIn(seenAgain(first, { ...row, ...changed }, 4000), 5100, times)).toBe(3900);
    expect(claimableIn(seenAgain(first, { ...row, holder: null }, 200), 200, times)).toBe(0);
  });

  it('is trusted by nobody when another instance claims it, whatever their clocks show and however late each look and answer is', () => {
    const delay = fc.integer({ min: 0, max: 3000 });
    const drawn = fc.record({ ahead: fc.integer(), delays: fc.array(fc.tuple(delay, delay, delay), { minLength: 1 }) });
    fc.assert(
      fc.property(drawn, ({ ahead, delays }) => {
        let at = 0;
        let until = 0;
        let seen: SeenLease | null = null;
        for (const [beat, [rest, way, looked]] of delays.entries()) {
          // The leader renews; the other reads the row some time after the database wrote it.
          until = trustedUntil(at, times);
          seen = seenAgain(seen, { ...row, beat }, at + way + looked + ahead);
          at += way + rest;
        }
        const claimed = (seen as SeenLease).since - ahead + times.lease;
        expect(claimableIn(seen as SeenLease, claimed + ahead, times)).toBe(0);
        expect(claimed).toBeGreaterThanOrEqual(until + times.margin);
      }),
    );
  });
});
