import { describe, expect, it } from 'vitest';
import { type Anchor, trustedClock } from '../../src/daemon/clock/trusted-clock.ts';
import { instant } from '../../src/kernel/clock.ts';
import { machineClock } from '../fakes/machine-clock.ts';
import { virtualClock } from '../fakes/virtual-clock.ts';

const noon = instant(Date.UTC(2026, 10, 21, 12));
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

function machineAt(stored: Anchor | null = null, last: number | null = noon - minute) {
  const world = virtualClock(noon);
  const machine = machineClock(world);
  return { world, machine, time: trustedClock(machine, stored, last) };
}

describe('the trusted clock', () => {
  it('shows what the machine shows while nothing is wrong, and follows a correction of half a minute', async () => {
    const { world, machine, time } = machineAt();
    await world.advance(5 * minute);
    expect(time.now()).toBe(world.now());
    machine.jump(30_000);
    expect(time.now()).toBe(machine.now());
    expect(time.look()).toMatchObject({ doubt: null, ready: true });
  });

  it('goes on from the first reading after a jump, before anybody has looked', async () => {
    const { world, machine, time } = machineAt();
    time.now();
    machine.jump(4100 * day);
    expect(time.now()).toBe(noon);
    await world.advance(minute);
    expect(time.now()).toBe(noon + minute);
    expect(time.look()).toMatchObject({ doubt: 'jumped', asks: true, ahead_ms: 4100 * day, mayPrune: false });
  });

  it('asks no more once the service agrees with the time since boot, and believes the wall clock when it is back', () => {
    const { machine, time } = machineAt();
    time.heard(noon);
    machine.jump(-2 * hour);
    time.heard(noon);
    expect(time.look()).toMatchObject({ doubt: 'jumped', asks: true });
    time.heard(noon + 500);
    expect(time.look()).toMatchObject({ doubt: 'wrong', asks: false });
    machine.jump(2 * hour);
    expect(time.look()).toMatchObject({ doubt: null, asks: false });
  });

  it('is moved by two Dates that agree with the wall clock, not by one', () => {
    const { machine, time } = machineAt();
    machine.jump(3 * day);
    time.heard(noon + 3 * day);
    expect(time.now()).toBe(noon);
    time.heard(noon);
    expect(time.now()).toBe(noon);
    time.heard(noon + 3 * day);
    expect(time.now()).toBe(noon);
    time.heard(noon + 3 * day);
    expect(time.now()).toBe(noon + 3 * day);
    expect(time.look()).toMatchObject({ doubt: null, mayPrune: false });
  });

  it('decides again where the wall clock jumps once more', () => {
    const { machine, time } = machineAt();
    time.heard(noon);
    machine.jump(-2 * hour);
    time.heard(noon);
    machine.jump(day);
    time.heard(noon);
    expect(time.look()).toMatchObject({ doubt: 'jumped', asks: true });
  });

  it('believes a wall clock that has kept step for an hour where the service never sends a Date', async () => {
    const { world, machine, time } = machineAt();
    machine.jump(day);
    time.heard(null);
    expect(time.now()).toBe(noon);
    await world.advance(hour + minute);
    expect(time.look().doubt).toBe('jumped');
    time.heard(null);
    expect(time.now()).toBe(noon + day + hour + minute);
  });

  it('stays in doubt for as long as the service says nothing at all', async () => {
    const { world, machine, time } = machineAt();
    machine.jump(day);
    await world.advance(30 * day);
    expect(time.look()).toMatchObject({ doubt: 'jumped', asks: true, mayPrune: false });
    // What is counted from the boot goes on as precisely as the machine's clock: three seconds a month apart.
    expect(Math.abs(time.now() - (noon + 30 * day))).toBeLessThan(3000);
  });

  it('at a start in 1970 is not ready before the service was heard', () => {
    const world = virtualClock(0);
    const time = trustedClock(machineClock(world), null, noon);
    expect(time.look()).toMatchObject({ doubt: 'implausible-start', ready: false, asks: true });
    time.heard(noon + minute);
    expect(time.look().ready).toBe(false);
    time.heard(noon + minute);
    expect(time.look()).toMatchObject({ doubt: 'wrong', ready: true, asks: false });
    expect(time.now()).toBe(noon + minute);
  });

  it('is not ready where a clock of 1970 jumps somewhere else and back', () => {
    const world = virtualClock(0);
    const machine = machineClock(world);
    const time = trustedClock(machine, null, noon);
    machine.jump(day);
    expect(time.look().ready).toBe(false);
    machine.jump(-day);
    expect(time.look().ready).toBe(false);
  });

  it('goes by what an earlier process of the same boot believed, and of another boot does not', () => {
    const world = virtualClock(noon + day);
    const anchor: Anchor = { boot_id: world.bootId(), booted_at: noon, confirmed: 1, doubted_at: null };
    expect(trustedClock(machineClock(world), anchor, noon).now()).toBe(noon);
    expect(trustedClock(machineClock(world), { ...anchor, boot_id: 'boot 2' }, noon).now()).toBe(noon + day);
    expect(trustedClock(machineClock(world), { ...anchor, boot_id: null }, noon).now()).toBe(noon + day);
  });
});
