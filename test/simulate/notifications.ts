import { notifiedHarness } from '../fakes/notified-harness.ts';

/*
 * `npm run simulate -- --notifications`: the receiver is away, the service goes on, and what became of it is printed;
 * then a subscription that says active and sends nothing. The real receiver, engine and sandbox on a virtual clock.
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const words = { reason: 'out_of_season', expected_reopening: 'within_month' };

interface Away {
  readonly away: string;
  readonly found: string;
  readonly alive_after: string;
  readonly gap: string;
  readonly differences: number;
}

/** Prints the story; returns whether everything came out as promised. */
export async function notificationsStory(say: (line: string) => void): Promise<boolean> {
  say(
    'away        the service had it as  alive again after  gap                                    differences after 3 h',
  );
  let good = true;
  for (const [name, ms] of [
    ['5 minutes', 5 * minute],
    ['2 days', 2 * day],
    ['32 days', 32 * day],
  ] as const) {
    const row = await receiverAway(name, ms);
    say(
      `${row.away.padEnd(12)}${row.found.padEnd(23)}${row.alive_after.padEnd(19)}${row.gap.padEnd(39)}${row.differences}`,
    );
    good &&= row.differences === 0 && row.alive_after !== 'never';
  }
  const { missed, named } = await silence();
  say('');
  say(
    `a subscription that says active and sends nothing: ${named ? 'named in status' : 'not noticed'} after ${missed} changes that nobody announced`,
  );
  return good && named && missed < 20;
}

async function receiverAway(away: string, ms: number): Promise<Away> {
  await using test = await notifiedHarness();
  const [id = 0, other = 0] = test.ids();
  const { sandbox, clock } = test.harness;
  sandbox.world.disable(id, { ...words, alternative: other });
  sandbox.world.edit(other, { field: 'whats_included', value: '* Everything' });
  await test.away(ms);
  const status = () => sandbox.subscriptions()[0]?.status ?? 'none';
  const found = status();
  const back = clock.now();
  let alive: number | null = found === 'active' ? 0 : null;
  for (let passed = 0; passed < 3 * hour; passed += minute) {
    await test.live(minute);
    if (alive === null && status() === 'active') alive = clock.now() - back;
  }
  const [gap] = test.harness.wiring.mirror.trust.gaps(10).filter(({ subscription_id }) => subscription_id === null);
  const closed = gap?.closed_at == null ? null : Math.round((gap.closed_at - back) / minute);
  return {
    away,
    found,
    alive_after: alive === null ? 'never' : alive === 0 ? 'it never ended' : `${Math.round(alive / minute)} min`,
    gap:
      gap === undefined
        ? 'none: the service tried again'
        : `${gap.products} products read, ${closed === null ? 'open' : `closed after ${closed} min`}`,
    differences: (await test.harness.compare()).differences,
  };
}

async function silence(): Promise<{ missed: number; named: boolean }> {
  await using test = await notifiedHarness({ products: 60 }, { cadence: { products: '1d' } });
  const { world } = test.harness.sandbox;
  const ids = test.ids();
  for (const id of ids.slice(0, 10)) world.edit(id, { field: 'whats_included', value: `* Ticket ${id}` });
  await test.live(day + hour, hour);
  test.harness.sandbox.setSending('all', 'none');
  let missed = 0;
  while (!test.alarms().includes('subscription-silent') && missed < 40) {
    const id = ids[10 + missed] ?? 0;
    world.edit(id, { field: 'whats_included', value: `* Nothing ${id}` });
    missed += 1;
    await test.live(day + hour, hour);
  }
  return { missed, named: test.alarms().includes('subscription-silent') };
}
