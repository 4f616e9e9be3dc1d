import { dueByWorth, isStillWorth } from '../../../src/domain/schedule/cadence.ts';
import { addDemand, clearingPrice, noDemand, noExtraCalls, pricesAround } from '../../../src/domain/schedule/price.ts';
import { priorSiblings, type SiblingKind, siblingKinds, Suspicions } from '../../../src/domain/schedule/siblings.ts';
import { afterVisitShown, type SignalBelief } from '../../../src/domain/schedule/signal.ts';
import { priorVolatility, stillTrue, type Volatility } from '../../../src/domain/schedule/volatility.ts';
import { roll, sequence } from '../../../src/sandbox/random.ts';
import { type Course, coursesOf } from './courses.ts';
import { bound, knownIntervals } from './schedulers.ts';

export interface TogetherWorld {
  readonly products: number;
  readonly seed: number;
  readonly days: number;
  readonly times: number;
  readonly share: number;
  readonly by: SiblingKind;
  readonly joins: number;
  readonly size: number;
}
export type Knows = 'fixed' | 'nothing' | 'orders' | 'weights' | 'optimum';
const floor = 1 / 12;
const hourMs = 3_600_000;

interface Member {
  readonly course: Course;
  readonly venue: string;
  readonly supplier: string;
  readonly rate: number;
  readonly changes: number[];
}
const groupOf = (m: Member, kind: SiblingKind) => (kind === 'venue' ? m.venue : m.supplier);

export function membersOf({ products, seed, days, share, by, joins, size }: TogetherWorld): Member[] {
  const end = days * 24;
  const members = coursesOf(seed, 'steady, σ 1.5', products).map((course): Member => {
    const venue = Math.floor(course.id / size);
    return { course, venue: `v${venue}`, supplier: `s${Math.floor(venue / 4)}`, rate: 0, changes: [] };
  });
  const chance = sequence(seed * 999 + 1);
  const poisson = (rate: number) => {
    const at: number[] = [];
    for (let t = -Math.log(1 - chance()) / rate; t < end; t -= Math.log(1 - chance()) / rate) at.push(t);
    return at;
  };
  const out: Member[] = [];
  for (const group of Map.groupBy(members, (m) => groupOf(m, by)).values()) {
    const mean = group.reduce((s, m) => s + m.course.rate(0), 0) / group.length;
    const events = share === 0 ? [] : poisson((share * mean) / joins);
    for (const m of group) {
      const own = m.course.rate(0) * (1 - share);
      const changes = [...poisson(own), ...events.filter(() => chance() < joins)].sort((a, b) => a - b);
      out.push({ ...m, rate: own + share * mean, changes });
    }
  }
  return out;
}

class Heap {
  readonly #a: [number, number][] = [];
  push(x: [number, number]) {
    const a = this.#a;
    let i = a.push(x) - 1;
    while (i > 0) {
      const p = (i - 1) >> 1;
      if (a[p]![0] <= a[i]![0]) break;
      [a[p], a[i]] = [a[i]!, a[p]!];
      i = p;
    }
  }
  pop(): [number, number] | undefined {
    const a = this.#a;
    const top = a[0];
    const last = a.pop();
    if (a.length > 0 && last) {
      a[0] = last;
      let i = 0;
      for (;;) {
        let c = 2 * i + 1;
        if (c >= a.length) break;
        if (c + 1 < a.length && a[c + 1]![0] < a[c]![0]) c++;
        if (a[i]![0] <= a[c]![0]) break;
        [a[i], a[c]] = [a[c]!, a[i]!];
        i = c;
      }
    }
    return top;
  }
}

export function live(world: TogetherWorld, members: Member[], knows: Knows, siblings: boolean, weigh: (id: number, hour: number) => number, tuned: { recall?: boolean } = {}) {
  const { products, times, days } = world;
  const end = days * 24;
  const warm = end / 2;
  const prior = priorVolatility('near');
  const budget = (times / bound) * products;
  const chance = sequence(world.seed * 31 + 3);
  const n = members.length;
  const last = new Array<number | null>(n).fill(null);
  const next = members.map(() => (chance() * bound) / 2);
  const planned = new Array<number>(n).fill(bound);
  const brought = new Array<boolean>(n).fill(false);
  const believed = members.map((): Volatility => prior);
  const beliefs: Record<SiblingKind, SignalBelief> = { venue: priorSiblings, supplier: priorSiblings };
  const suspicions = { venue: new Suspicions(), supplier: new Suspicions() };
  const groups = Object.fromEntries(siblingKinds.map((k) => [k, Map.groupBy(members.keys(), (i) => groupOf(members[i]!, k))])) as Record<SiblingKind, Map<string, number[]>>;
  let price: number | null = null;
  let weights = members.map(() => 1);
  const heap = new Heap();
  for (const [i, at] of next.entries()) heap.push([at, i]);
  let optimal: number[] = [];
  if (knows === 'optimum') optimal = knownIntervals(members.map((m) => ({ rate: m.rate, weight: m.course.weight })), budget);
  let extraSpent = 0;
  let extraRate = 0;
  let jumped = 0;
  const found = { stale: 0, lived: 0, calls: 0, fromSibs: 0, sibChanged: 0 };
  const jumpOf = (i: number) => {
    if (!siblings) return 0;
    let left = 1;
    for (const kind of siblingKinds) left *= 1 - suspicions[kind].jump(groupOf(members[i]!, kind), last[i]! * hourMs, beliefs[kind]);
    return 1 - left;
  };
  const plan = (i: number, jump: number): { at: number } => {
    const at = last[i]!;
    if (knows === 'fixed') return { at: at + products / budget };
    if (knows === 'optimum') return { at: at + optimal[i]! };
    const key = { resource: 'availability', product_id: members[i]!.course.id, edition: 'EUR', part: 0 } as const;
    const worth = { volatility: believed[i]!, weight: weights[i]!, price: price ?? noExtraCalls, floor: floor * hourMs };
    const signal = { watch: { precision: 0, recall: 0, every: bound * hourMs }, jump };
    const due = dueByWorth(key, at * hourMs, bound * hourMs, { ...worth, signal });
    return { at: due.at / hourMs };
  };
  let hour = 0;
  for (;;) {
    const top = heap.pop();
    if (!top || top[0] >= end) break;
    const [at, i] = top;
    if (at !== next[i]) continue;
    while (at >= hour) {
      if (hour % 3 === 0 && knows !== 'fixed' && knows !== 'optimum') {
        weights = members.map((m) => weigh(m.course.id, hour));
        const priced = members.map((_, j) => ({ volatility: believed[j]!, weight: weights[j]!, cap: bound * hourMs * 0.99, floor: floor * hourMs }));
        const demand = addDemand(noDemand(pricesAround(price)), priced);
        if (hour >= 3) extraRate = extraRate === 0 ? extraSpent / 3 : extraRate * 0.7 + (extraSpent / 3) * 0.3;
        extraSpent = 0;
        price = clearingPrice(demand, Math.max(0, budget - extraRate) / hourMs - demand.needed);
      }
      hour += 1;
    }
    const m = members[i]!;
    const from = last[i]!;
    const jump = from === null ? 0 : jumpOf(i);
    if (brought[i] && from !== null) {
      const due = { at: plan(i, jump).at * hourMs, reason: 'likely-changed' } as never as { at: never; reason: 'likely-changed' };
      if (!isStillWorth(due, from * hourMs, at * hourMs)) {
        next[i] = Math.max(at + 1e-6, (due.at as number) / hourMs);
        brought[i] = false;
        heap.push([next[i]!, i]);
        continue;
      }
      found.fromSibs += at >= warm ? 1 : 0;
    }
    const wasBrought = brought[i];
    brought[i] = false;
    let changed = false;
    if (from !== null) {
      const lo = m.changes.findIndex((t) => t >= from);
      const change = lo === -1 ? null : m.changes[lo]! < at ? m.changes[lo]! : null;
      if (lo > 0) m.changes.splice(0, lo);
      changed = change !== null;
      if (at >= warm) {
        found.calls += 1;
        if (wasBrought && changed) found.sibChanged += 1;
        found.lived += m.course.weight * (at - Math.max(warm, from));
        if (change !== null) found.stale += m.course.weight * (at - Math.max(warm, change));
      }
    }
    if (knows !== 'fixed' && knows !== 'optimum' && from !== null) {
      const read = { before_at: from * hourMs, at: at * hourMs, changed };
      let unshared = 1;
      const bring: number[] = [];
      if (siblings) {
        if (jump > 0) extraSpent += Math.max(0, 1 - (at - from) / planned[i]!);
        const otherwise = 1 - stillTrue(believed[i]!, (at - from) * hourMs);
        for (const kind of siblingKinds) {
          const group = groupOf(m, kind);
          const others = groups[kind].get(group)!.filter((j) => j !== i && last[j] !== null);
          const after = suspicions[kind].afterRead(group, { ...read, otherwise }, others.map((j) => last[j]! * hourMs), beliefs[kind]);
          beliefs[kind] = after.belief;
          unshared *= 1 - after.shared;
          if (changed) bring.push(...others);
        }
      }
      believed[i] = afterVisitShown(believed[i]!, read, 1 - unshared, prior);
      last[i] = at;
      for (const j of bring) {
        const jump = jumpOf(j);
        if (jump < 0.001) continue;
        const due = Math.max(at + 1e-5, plan(j, jump).at);
        if (due < next[j]!) {
          next[j] = due;
          brought[j] = true;
          jumped++;
          heap.push([due, j]);
        }
      }
    }
    last[i] = at;
    next[i] = plan(i, 0).at;
    planned[i] = next[i]! - at;
    heap.push([next[i]!, i]);
  }
  return { stale: found.stale / found.lived, calls: (found.calls / (end - warm)) * 24, fromSibs: (found.fromSibs / (end - warm)) * 24, hit: found.sibChanged / found.fromSibs, jumped, beliefs, extraRate: extraRate * 24 };
}
void roll;
