import { setTimeout as delay } from 'node:timers/promises';
import { table } from '../../../src/commands/terminal/table.ts';
import { systemClock } from '../../../src/kernel/clock.ts';
import { exitCodes } from '../../../src/kernel/errors.ts';
import { sequence } from '../../../src/sandbox/random.ts';
import { kind, type Quirks } from '../../../src/sandbox/rough/quirks.ts';
import type { Comparison } from '../../oracle/oracle.ts';
import { atService, isAtService } from '../events.ts';
import { type PlannedEvent, planOf } from '../plan.ts';
import { plantPrice, RealWorld, rough, type Used } from './real-world.ts';

/** Options of the command line. */
export interface RealTimeAsked {
  readonly seed: string;
  readonly minutes: number;
  readonly products: number;
  /** Seconds. */
  readonly killEvery: number;
  readonly plantPrice: true;
}

/** Lives through a day of a plan in so many seconds: many a life of the daemon meets all that its seed has drawn. */
const secondsADay = 10;
const speed = 86_400 / secondsADay;
/** Fewer lives say more about where in their work they were killed than about growth. */
const fewestLives = 10;
/** What is read in the calm is read once, unless something still rests or the hour ends. */
const mostResyncs = 4;

/** What a plan has happen in real time, and a daemon that is killed besides. */
class Played {
  /** What the daemon used at the end of each life that was as long as the others. */
  readonly lives: Used[] = [];
  /** How often what happens only in virtual time was drawn: throttles too, as a Retry-After may ask for an hour. */
  readonly left_out = new Map<string, number>();
  happened = 0;
  kills = 0;
  readonly #world: RealWorld;
  readonly #quirks: Quirks;
  readonly #life_ms: number;
  #endings: { readonly at: number; end(): void | Promise<void> }[] = [];
  #kill_at = 0;

  constructor(world: RealWorld, quirks: Quirks, life_ms: number) {
    this.#world = world;
    this.#quirks = quirks;
    this.#life_ms = life_ms;
  }

  async play(events: readonly PlannedEvent[], ends_at: number): Promise<void> {
    const began = Date.now();
    const coming = [...events];
    this.#run();
    for (let used = this.#world.used(); Date.now() < ends_at; used = this.#world.used() ?? used) {
      await delay(250);
      await this.end(Date.now());
      while (coming[0] !== undefined && coming[0].at * 1000 <= (Date.now() - began) * speed)
        await this.#happen(coming.shift() as PlannedEvent);
      if (Date.now() < this.#kill_at) continue;
      if (used !== null) this.lives.push(used);
      await this.#again('SIGKILL');
    }
  }

  /** Ends what is over at an instant. */
  async end(at: number): Promise<void> {
    const over = this.#endings.filter((each) => each.at <= at);
    this.#endings = this.#endings.filter((each) => !over.includes(each));
    for (const { end } of over) await end();
  }

  async #happen({ what, draw }: PlannedEvent): Promise<void> {
    const { sandbox } = this.#world;
    if (what === 'killed') return this.#again('SIGKILL');
    if (what === 'restarted') return this.#again('SIGTERM');
    if (!isAtService(what) || what === 'throttles') {
      this.left_out.set(what, (this.left_out.get(what) ?? 0) + 1);
      return;
    }
    this.happened += 1;
    await atService[what]({
      sandbox,
      clock: systemClock,
      quirks: this.#quirks,
      chance: sequence(draw),
      until: (ms, end) => void this.#endings.push({ at: Date.now() + ms / speed, end }),
    });
  }

  async #again(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (signal === 'SIGKILL') this.kills += 1;
    await this.#world.stop(signal);
    this.#run();
  }

  #run(): void {
    this.#world.run();
    this.#kill_at = Date.now() + this.#life_ms;
  }
}

/**
 * Lives through a seed's plan with the built daemon in real time: what happens at the service happens, a kill is SIGKILL, and each
 * life ends with one after so long. Then calm: everything is read once more, and every column of every view is compared. Returns
 * the exit status: 0 if nothing differs, nothing grows and the daemon never ended by itself.
 */
export async function livePlan(asked: Partial<RealTimeAsked>, say: (line: string) => void): Promise<number> {
  const { minutes = 10, products = 200, killEvery = 30, plantPrice: plant = false } = asked;
  const { seed, setting, events } = planOf(Number(asked.seed ?? '1'), Math.ceil((minutes * 60) / secondsADay));
  const { scheduling, batch, gone, share, audit } = setting;
  const quirks = { ...rough, ...setting.quirks };
  const ends_at = Date.now() + minutes * 60_000;
  const changes = { median_hours: 0.5, sigma: 1.5, until: ends_at };
  const retry_ms = [1000, 2000, 4000, 8000, 16_000];
  await using world = await RealWorld.start({
    sandbox: { seed, products, live: true, changes, hold_ms: 2000, retry_ms, batch, gone, quirks },
    config: { scheduling, budget: { requests_per_second: 200, concurrency: 4, share, audit } },
  });
  const { sandbox, exits } = world;
  const played = new Played(world, quirks, killEvery * 1000);
  await played.play(events, ends_at);

  const left_out = [...played.left_out].map(([what, times]) => `${what} ${times}`).join(', ');
  say(
    `${played.happened} events of seed ${seed}, ${played.kills} kills, ${sandbox.calls.counts().calls} calls, ${exits.length} ends of its own; now calm`,
  );
  say(`left out, as only virtual time has them: ${left_out || 'none'}`);
  await played.end(Number.POSITIVE_INFINITY);
  sandbox.faults.clear();
  const { endpoints, escapes, hostile_values, unrated } = quirks;
  sandbox.setQuirks({ ...kind, endpoints, escapes, hostile_values, unrated });
  // That a product is gone is believed after half an hour.
  for (const product of sandbox.products()) product.withdrawn = false;
  // What is off sale is looked at again after its second "available" read, a minute later.
  await delay(70_000);
  const hour = () => Math.floor(Date.now() / 3_600_000);
  let [resynced, compared] = [1 as number | null, null as Comparison | null];
  for (let tries = 1; tries <= mostResyncs && compared === null; tries += 1) {
    const began = hour();
    const { code, stdout, stderr } = await world.command(600_000, 'resync', '--all', '--wait');
    say(`resync --all --wait: ${code}; ${(code === 0 ? stdout : stderr).trim()}`);
    resynced = code;
    // A product that was throttled alone before the calm rests for a while, and what is about it fails.
    if (code === exitCodes.unavailable && tries < mostResyncs) await delay(60_000);
    // The sandbox's days sell out by the hour: what is read and what it is compared with must be of one.
    else if (began === hour()) {
      if (plant) plantPrice(world.mirror);
      compared = await world.compared();
      if (began !== hour()) compared = null;
    }
  }
  const calm = [world.used()].filter((used) => used !== null);
  const stopped = await world.stop();
  const { differences = 1, first = [], rows = {} } = compared ?? {};
  for (const each of first.slice(0, 5)) say(`  ${each}`);

  const { lives } = played;
  const half = Math.floor(lives.length / 2);
  const [before, after] = [mean(lives.slice(0, half)), mean(lives.slice(half))];
  const figures = { 'first half of its lives': before, 'second half': after, 'after the calm': mean(calm) };
  const shown = Object.entries(figures).map(([when, used]) => [when, used.mib.toFixed(0), used.descriptors.toFixed(1)]);
  say(table(['', 'memory MiB', 'descriptors'], shown));
  const isJudged = lives.length >= fewestLives;
  if (!isJudged) say(`growth is not judged: fewer than ${fewestLives} whole lives`);
  const grows = isJudged && (after.descriptors > before.descriptors + 5 || after.mib > 1.25 * before.mib);
  const sum = Object.values(rows).reduce((all, each) => all + each, 0);
  say(`${sum} rows compared: ${differences} differences; stopped with ${stopped}`);
  const good = differences === 0 && !grows && exits.length === 0 && resynced === 0 && stopped === 0;
  world.kept = !good && !plant;
  say(good ? 'No problem.' : `NOT as it must be${world.kept ? `; see ${world.directory}` : ''}.`);
  return good ? 0 : 1;
}

function mean(lives: readonly Used[]): Used {
  const of = (what: keyof Used) => lives.reduce((sum, each) => sum + each[what], 0) / Math.max(1, lives.length);
  return { mib: of('mib'), descriptors: of('descriptors') };
}
