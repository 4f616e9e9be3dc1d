import { expect, it } from 'vitest';
import { type Check, isHealthy } from '../src/doctor/check.ts';
import { serviceChecks } from '../src/doctor/doctor.ts';
import type { Outcome } from '../src/upstream/outcome.ts';
import { type VirtualHarness, virtualHarness } from './fakes/virtual-harness.ts';

const never = new AbortController().signal;
const tls: Outcome = { kind: 'unreachable', code: 'tls', message: 'TLS fails (CERT_HAS_EXPIRED)' };

/** Asks as the doctor does, in virtual time. Returns the check of the service, and the milliseconds that all of it took. */
async function examined({ daemon, drive, clock }: VirtualHarness): Promise<{ service: Check | undefined; ms: number }> {
  const { config, probe, serviceClock, subscriptions, notOffered } = daemon;
  const probes = { config, probe, offset: serviceClock.offset, subscriptions, notOffered, peers: null };
  const began_at = clock.now();
  const checks = await drive(serviceChecks(probes, never));
  expect(isHealthy(checks)).toBe(false);
  return { service: checks.find(({ name }) => name === 'service'), ms: clock.now() - began_at };
}

/** A daemon all of whose calls end like this, and which waits for longer after each. */
async function after(outcome: Outcome, calls: number): Promise<VirtualHarness> {
  const harness = await virtualHarness({ products: 2, lean: true });
  for (let call = 0; call < calls; call += 1)
    await harness.drive(harness.daemon.limiter.run(async () => outcome, never, 'near'));
  return harness;
}

it('the doctor names the TLS error that the daemon knows, within ten seconds', async () => {
  await using harness = await after(tls, 8);
  expect(harness.daemon.limiter.pause().not_before).toBeGreaterThan(harness.clock.now() + 10_000);
  const { service, ms } = await examined(harness);
  expect(service).toMatchObject({ verdict: 'wrong', found: 'TLS fails (CERT_HAS_EXPIRED)' });
  expect(ms).toBeLessThan(10_000);
});
