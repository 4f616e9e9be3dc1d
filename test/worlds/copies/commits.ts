import { openMirrorWithClock } from '../../fakes/mirror-at.ts';
import { temporaryDirectory } from '../../fakes/test-mirror.ts';
import type { VirtualHarness } from '../../fakes/virtual-harness.ts';
import { type Announced, unheard, untrue } from './announced.ts';
import { events, hiddenEvents } from './events.ts';
import { liveWatched, type Watcher } from './follow.ts';
import { type Forgery, forgeries } from './forgeries.ts';
import { announced, announcedViews, keyOf } from './importer.ts';
import { type CopyScript, copyScript, type Row } from './script.ts';

export interface CommitsAsked {
  readonly changes: number;
  readonly seed: number;
  /** Goes on after a difference, to count them all. */
  readonly goesOn?: boolean;
  progress?(done: number): void;
}

/** Rows of each view by their key, with the columns that the feed announces. */
export type Shown = ReadonlyMap<string, ReadonlyMap<string, Row>>;

/** A row of a view before and after a commit; undefined: the view did not show it. */
export interface ChangedRow {
  readonly view: string;
  readonly key: string;
  readonly before: Row | undefined;
  readonly after: Row | undefined;
}

/** A connection that reads one state of a mirror, by a clock that can be set. */
class Snapshot implements Disposable {
  readonly #file;
  readonly #views;
  readonly #changes;
  /** Views ask for whole seconds. */
  #known: { readonly second: number; readonly shown: Shown } | null = null;

  constructor(path: string) {
    this.#file = openMirrorWithClock(path);
    const { db } = this.#file;
    const rowsOf = (view: string) => db.prepare<[], Row>(`SELECT ${announced(view).join(', ')} FROM ${view}`);
    this.#views = announcedViews.map((view) => ({ view, rows: rowsOf(view) }));
    this.#changes = db.prepare<[number], Announced>('SELECT * FROM changes WHERE seq > ? ORDER BY seq');
    this.#begin();
  }

  /** Goes on to the newest state. */
  renew(): void {
    this.#file.db.exec('COMMIT');
    this.#begin();
  }

  shown(now: number): Shown {
    const second = Math.floor(now / 1000);
    if (this.#known?.second !== second) {
      this.#file.set(now);
      const keyed = (view: string, rows: readonly Row[]) => new Map(rows.map((row) => [keyOf(view, row), row]));
      const shown = new Map(this.#views.map(({ view, rows }) => [view, keyed(view, rows.all())]));
      this.#known = { second, shown };
    }
    return this.#known.shown;
  }

  changesAfter(seq: number): Announced[] {
    return this.#changes.all(seq);
  }

  [Symbol.dispose](): void {
    this.#file.db.close();
  }

  #begin(): void {
    this.#file.db.exec('BEGIN');
    // The first read chooses the state.
    this.#changes.get(Number.MAX_SAFE_INTEGER);
    this.#known = null;
  }
}

/** Compares what the feed says of each commit with the cells of the views that this commit changed. */
export class Commits implements Watcher {
  readonly wrong: string[] = [];
  /** Number of differences, by their kind. */
  readonly differences = new Map<string, number>();
  readonly examples: string[] = [];
  /** Kinds of changes that the feed has had. */
  readonly kinds = new Set<string>();
  /** Forgeries of the feed that have not been noticed yet. */
  readonly unnoticed = new Map<string, Forgery>(Object.entries(forgeries));
  commits = 0;
  /** Number of values in the feed that were compared with cells. */
  compared = 0;
  readonly #harness: VirtualHarness;
  readonly #script: CopyScript;
  readonly #goesOn: boolean;
  /** The state before the commit, and the one after it. */
  #before: Snapshot;
  #after: Snapshot;
  #seq: number;

  /** `goesOn`: also after a difference, to count them all. */
  constructor(harness: VirtualHarness, script: CopyScript, goesOn = false) {
    this.#harness = harness;
    this.#script = script;
    this.#goesOn = goesOn;
    const { path } = harness.daemon.config.mirror;
    [this.#before, this.#after] = [new Snapshot(path), new Snapshot(path)];
    this.#seq = this.#before.changesAfter(0).at(-1)?.seq ?? 0;
  }

  atCommit(): void {
    const now = this.#harness.clock.now();
    this.#after.renew();
    const changes = this.#after.changesAfter(this.#seq);
    // Both by the same clock: nothing but the commit differs.
    const [before, after] = [this.#before.shown(now), this.#after.shown(now)];
    [this.#before, this.#after] = [this.#after, this.#before];
    this.#seq = changes.at(-1)?.seq ?? this.#seq;
    this.commits += 1;
    for (const { kind } of changes) this.kinds.add(kind);
    const rows = changedRows(before, after);
    const judge = (said: readonly Announced[]) => {
      const { differences, compared } = untrue(said, before, after);
      return { differences: [...differences, ...unheard(rows, said, this.#script)], compared };
    };
    const { differences, compared } = judge(changes);
    this.compared += compared;
    for (const [name, forge] of this.unnoticed) {
      const forged = forge(changes, before, after);
      // It may have nothing to do here.
      if (forged.every((change, index) => change === changes[index]) && forged.length === changes.length) continue;
      if (judge(forged).differences.length > differences.length) this.unnoticed.delete(name);
    }
    for (const { kind, text } of differences) {
      this.differences.set(kind, (this.differences.get(kind) ?? 0) + 1);
      if (this.examples.length < 40) this.examples.push(`${new Date(now).toISOString()} ${kind}: ${text}`);
      if (!this.#goesOn) this.wrong.push(this.examples.at(-1) ?? kind);
    }
  }

  [Symbol.dispose](): void {
    for (const each of [this.#before, this.#after]) each[Symbol.dispose]();
  }
}

function changedRows(before: Shown, after: Shown): ChangedRow[] {
  return announcedViews.flatMap((view) => {
    const [old, now] = [before.get(view) ?? new Map<string, Row>(), after.get(view) ?? new Map<string, Row>()];
    return [...new Set([...old.keys(), ...now.keys()])]
      .map((key) => ({ view, key, before: old.get(key), after: now.get(key) }))
      .filter((row) => announced(view).some((column) => row.before?.[column] !== row.after?.[column]));
  });
}

/** Lets changes happen, and compares at each commit. `goesOn`: counts all differences. */
export async function commitsOf(asked: CommitsAsked): Promise<Commits> {
  await using stack = new AsyncDisposableStack();
  const { path: directory } = stack.use(temporaryDirectory());
  const script = await copyScript(directory);
  const watch = (harness: VirtualHarness) => new Commits(harness, script, asked.goesOn);
  using commits = await liveWatched({ ...asked, directory, events: { ...events, ...hiddenEvents }, watch });
  return commits;
}
