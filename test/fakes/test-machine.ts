import { type Machine, thisMachine } from '../../src/daemon/machine.ts';
import { testLog } from './test-log.ts';

/** This machine without its time zones, with the parts that a test replaces. Nothing is logged. */
export function testMachine(replaced: Partial<Machine> = {}): Machine {
  return thisMachine(testLog('silent').log, { zones: { directory: null, runtime: null }, ...replaced });
}

/** An image host on this machine, asked without waiting for turns. */
export const nearby = {
  imageHost: { addresses: ['127.0.0.1'], requests_per_second: Number.POSITIVE_INFINITY, at_once: 8 },
};
