import type { Database } from 'better-sqlite3';
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
interface Snapshot extends Disposable {
  shown(now: number): Shown;
  changesAfter(seq: number): Announced[];
}

function snapshot(path: string): Snapshot {
  const { db, set } = openMirrorWithClock(path);
  db.exec('BEGIN');
  // The first read chooses the state.
  db.prepare('SELECT count(*) FROM mirror_info').get();
  return {
    shown: (now) => {
      set(now);
      return new Map(announcedViews.map((view) => [view, rowsOf(db, view)]));
    },
    changesAfter: (seq) => db.prepare<[number], Announced>('SELECT * FROM changes WHERE seq > ? ORDER BY seq').all(seq),
    [Symbol.dispose]: () => void db.close(),
  };
}

function rowsOf(db: Database, view: string): ReadonlyMap<string, Row> {
  const rows = db.prepare<[], Row>(`SELECT ${announced(view).join(', ')} FROM ${view}`).all();
  return new Map(rows.map((row) => [keyOf(view, row), row]));
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
  /** The state before the commit. */
  #before: Snapshot;
  #seq: number;

  /** `goesOn`: also after a difference, to count them all. */
  constructor(harness: VirtualHarness, script: CopyScript, goesOn = false) {
    this.#harness = harness;
    this.#script = script;
    this.#goesOn = goesOn;
    this.#before = snapshot(harness.daemon.mirror.path);
    this.#seq = this.#before.changesAfter(0).at(-1)?.seq ?? 0;
  }

  atCommit(): void {
    const { clock, daemon } = this.#harness;
    const now = clock.now();
    const next = snapshot(daemon.mirror.path);
    const changes = next.changesAfter(this.#seq);
    // Both by the same clock: nothing but the commit differs.
    const [before, after] = [this.#before.shown(now), next.shown(now)];
    this.#before[Symbol.dispose]();
    this.#before = next;
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
    this.#before[Symbol.dispose]();
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
