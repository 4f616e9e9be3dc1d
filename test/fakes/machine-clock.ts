import { type Clock, instant } from '../../src/kernel/clock.ts';

/** The clock of a machine in a world whose time is right: its wall clock can be wrong, and it can be suspended. */
export interface MachineClock extends Clock {
  /** Moves the wall clock alone. */
  jump(ms: number): void;
  /** Moves the wall clock and the time since boot: a machine on which no two clocks tell that anything happened. */
  jumpAll(ms: number): void;
  /** The machine was suspended, or with `pause` a hypervisor stopped it, for so long of the world's time, which has passed. */
  slept(ms: number, how?: 'suspend' | 'pause'): void;
  /** Another boot: nothing of the time before is known. */
  reboot(): void;
}

export function machineClock(world: Clock): MachineClock {
  let skew = 0;
  let monotonic = 0;
  let boot = 0;
  let boots = 1;
  return {
    ...world,
    now: () => instant(world.now() + skew),
    monotonic: () => world.monotonic() + monotonic,
    boot: () => world.boot() + boot,
    bootId: () => (boots === 1 ? world.bootId() : `boot ${boots}`),
    jump: (ms) => {
      skew += ms;
    },
    jumpAll: (ms) => {
      skew += ms;
      boot += ms;
    },
    slept: (ms, how = 'suspend') => {
      monotonic -= ms;
      if (how === 'pause') boot -= ms;
    },
    reboot: () => {
      boots += 1;
      boot = -world.boot();
    },
  };
}
