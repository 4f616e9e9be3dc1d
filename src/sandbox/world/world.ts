import { type Clock, dayMs } from '../../kernel/clock.ts';
import { type CalendarDay, type CalendarState, calendarDay } from './calendar.ts';
import type { SandboxProduct } from './catalogue.ts';
import type { CalendarChanges } from './changes.ts';
import { type Announce, type Mutations, mutations } from './mutations.ts';
import type { Past } from './past.ts';

/** The correct state of the simulated service: what is offered, in which order, and when. */
export interface World extends Mutations {
  readonly clock: Clock;
  find(id: number): SandboxProduct | null;
  /** Returns the products of the list, in its order. */
  visible(): SandboxProduct[];
  /** Leaves products out of the list although they can be read by themselves; null: leaves out none. */
  hide(which: ((product: SandboxProduct) => boolean) | null): void;
  /** Experience ids in ascending order, each with its visible products. */
  experiences(): Map<number, number[]>;
  /** Members of experiences with other values than the generated ones, by experience id. */
  readonly experienceEdits: Map<number, Readonly<Record<string, unknown>>>;
  /** Ids in the list of tags, in ascending order: those of all products as they were at first. */
  tags(): number[];
  /** Members of tags with other values than the generated ones, by tag id; null: the list has it no more. */
  readonly tagEdits: Map<number, Readonly<Record<string, unknown>> | null>;
  /** Returns the first and the last date on sale now, at the product's venue. */
  dates(product: SandboxProduct): { today: string; last: string };
  /** Returns the days with tickets in a range. `within`: only those in `dates`, or any. */
  days(product: SandboxProduct, from: string, to: string, currency: string, within?: 'sold' | 'any'): CalendarDay[];
  /** Moves a product from behind `position` to the front, so that later pages repeat a row and miss one. */
  drift(position: number, chance: number): void;
}

const printed = new Map<number, string>();

function dateOf(at: number): string {
  const date = printed.get(at) ?? new Date(at).toISOString().slice(0, 10);
  printed.set(at, date);
  return date;
}

export function createWorld(
  products: readonly SandboxProduct[],
  clock: Clock,
  {
    seed,
    live,
    lean,
    changes,
    past,
    announce,
  }: {
    seed: number;
    live: boolean;
    lean: boolean;
    changes: CalendarChanges | null;
    past: Past;
    announce: Announce;
  },
): World {
  const byId = new Map(products.map((product) => [product.id, product]));
  let order = [...products];
  const tags = [...new Set(products.flatMap(({ tag_ids }) => tag_ids))].sort((a, b) => a - b);
  const tagEdits: World['tagEdits'] = new Map();
  let hidden: ((product: SandboxProduct) => boolean) | null = null;
  const calendarState = (): CalendarState => ({
    seed,
    lean,
    live_hour: live ? Math.floor(clock.now() / 3_600_000) : null,
    changes,
  });

  /** All products of a zone have the same today during one second of the clock. */
  const known = new Map<string | null, { second: number; today: string; last: string }>();

  function dates(product: SandboxProduct): { today: string; last: string } {
    const second = Math.floor(clock.now() / 1000);
    const stored = known.get(product.place.zone);
    if (stored?.second === second) return stored;
    const found = { second, ...datesIn(product.place.zone) };
    known.set(product.place.zone, found);
    return found;
  }

  function datesIn(zone: string | null): { today: string; last: string } {
    const at = Temporal.Instant.fromEpochMilliseconds(clock.now())
      .toZonedDateTimeISO(zone ?? 'UTC')
      .toPlainDate();
    // If the service itself names no zone, it is unknown when the venue's day begins, so yesterday is sold too.
    const today = zone === null ? at.subtract({ days: 1 }) : at;
    return { today: today.toString(), last: today.add({ days: 366 }).toString() };
  }

  return {
    ...mutations((id) => byId.get(id) ?? null, past, announce),
    clock,
    find: (id) => byId.get(id) ?? null,
    visible: () => order.filter((product) => !product.withdrawn && !(hidden?.(product) ?? false)),
    hide: (which) => {
      hidden = which;
    },
    experienceEdits: new Map(),
    experiences: () => {
      const members = new Map<number, number[]>();
      for (const { id, experience_ids, withdrawn } of products) {
        for (const experience of withdrawn ? [] : experience_ids)
          members.set(experience, [...(members.get(experience) ?? []), id]);
      }
      return new Map([...members].sort(([a], [b]) => a - b));
    },
    tags: () => tags.filter((id) => tagEdits.get(id) !== null),
    tagEdits,
    dates,
    days: (product, from, to, currency, within = 'sold') => {
      const { today, last } = within === 'sold' ? dates(product) : { today: from, last: to };
      const [first = from] = [from, today].sort().reverse();
      const [end = to] = [to, last].sort();
      const state = calendarState();
      const days: CalendarDay[] = [];
      const last_at = Date.parse(end);
      for (let at = Date.parse(first); at <= last_at; at += dayMs) {
        const day = calendarDay(product, dateOf(at), currency, state);
        if (day !== null) days.push(day);
      }
      return days;
    },
    drift: (position, chance) => {
      const index = position + Math.floor(chance * (order.length - position));
      const moved = order[index];
      if (moved === undefined) return;
      order = [moved, ...order.slice(0, index), ...order.slice(index + 1)];
    },
  };
}
