import { writeRefusal } from '../files/write-refusal.ts';
import type { Mirroring } from './mirroring.ts';

/**
 * A condition without which a job does nothing. Only this file decides why work may not be done now. The schedule asks
 * it before each run, and reports the reason.
 *
 * - `mirror`, `inbox`: the file is neither lost nor damaged.
 * - `writing`: no full disk and no lock of another program. The schedule waits for it, and skips a tick for the others.
 * - `leads`: no other instance may lead.
 * - `time`: the time is known, if only from the service.
 * - `certain-time`: the machine's clock was not in doubt within the last hour, nor is it now. For irreversible work.
 * - `key`: the service does not refuse the key.
 */
export type Need = 'mirror' | 'inbox' | 'writing' | 'leads' | 'time' | 'certain-time' | 'key';

/**
 * Returns the reason why a need is not met, as a clause; null: it is met. `writing` always counts as met here, because
 * the schedule waits for it.
 */
export type Unmet = (need: Need) => string | null;

export function unmetIn(mirroring: Mirroring): Unmet {
  const { files, watch, sync } = mirroring;
  let looked = false;
  const lost = (file: 'mirror' | 'inbox') => {
    if (!looked) {
      files.look();
      // Many jobs ask in one tick, which is one turn of the event loop.
      looked = true;
      setImmediate(() => {
        looked = false;
      });
    }
    return files.isWell(file) ? null : (files.trouble()?.message ?? `the ${file} is lost`);
  };
  const reasons: Readonly<Record<Need, () => string | null>> = {
    mirror: () => lost('mirror'),
    inbox: () => lost('inbox'),
    writing: () => null,
    leads: () =>
      (mirroring.sharing?.leadership.trusted() ?? true)
        ? null
        : 'the database does not confirm that this instance leads',
    time: () => {
      try {
        return watch.observe() ? null : 'the time is unknown: no clock confirms that of the machine';
      } catch (error) {
        // After a correction of the clock, stored instants are repaired first, which a full disk refuses.
        const refused = writeRefusal(error);
        if (refused === null) throw error;
        return `the stored times wait for a repair: ${refused.message}`;
      }
    },
    'certain-time': () => (watch.mayPrune() ? null : "the machine's clock is in doubt, or was within the hour"),
    key: () => {
      const message = sync.refusals.keyRefused();
      return message === null ? null : `the service refuses the key: ${message}`;
    },
  };
  return (need) => reasons[need]();
}
