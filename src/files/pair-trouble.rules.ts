/** Condition of one of the two files, determined before anything is written. */
export type Condition =
  | 'missing'
  /** No bytes, or no tables. */
  | 'empty'
  | 'well'
  | 'damaged'
  /** It belongs to another program. */
  | 'foreign'
  /** Written by a newer version. */
  | 'newer'
  /** Written by a development version, before 1.0.0. */
  | 'development';

export interface PairFacts {
  readonly mirror: Condition;
  readonly inbox: Condition;
  /**
   * Mirror that the inbox expects: `none` exists yet, it accepts `any`, or only the `known` one. Null if the inbox
   * cannot be read.
   */
  readonly expects: 'none' | 'any' | 'known' | null;
  /** True: both have the same pair id. Null: one of them has none. */
  readonly paired: boolean | null;
  /** True: a verified copy of a mirror exists. */
  readonly backup: boolean;
}

export type Trouble =
  | 'inbox-damaged'
  | 'inbox-foreign'
  | 'inbox-newer'
  | 'inbox-development'
  | 'inbox-empty'
  | 'inbox-missing'
  | 'mirror-damaged'
  | 'mirror-foreign'
  | 'mirror-newer'
  | 'mirror-development'
  | 'mirror-empty'
  | 'mirror-missing'
  | 'foreign-pair';

/** Returns why the daemon cannot start with the two files. Null if it can; it then creates the missing ones. */
export function troubleOf(facts: PairFacts): Trouble | null {
  const { mirror, inbox, expects, paired, backup } = facts;
  if (isUnusable(inbox)) return `inbox-${inbox}`;
  if (isUnusable(mirror)) return `mirror-${mirror}`;
  if (mirror === 'well') {
    if (inbox === 'missing' || inbox === 'empty') return `inbox-${inbox}`;
    return paired === false && expects !== 'any' ? 'foreign-pair' : null;
  }
  if (mirror === 'empty' && backup) return 'mirror-empty';
  return expects === 'known' ? `mirror-${mirror}` : null;
}

type Unusable = Extract<Condition, 'damaged' | 'foreign' | 'newer' | 'development'>;

function isUnusable(found: Condition): found is Unusable {
  return found !== 'missing' && found !== 'empty' && found !== 'well';
}

/** Steps of `repair` for the two files. */
export interface RepairPlan {
  /** `quarantine`: the existing file is set aside first. */
  readonly mirror: 'keep' | 'quarantine' | 'none';
  readonly inbox: 'keep' | 'quarantine' | 'none';
  /** True: the newest verified copy replaces the mirror. False: the mirror is kept or filled from scratch. */
  readonly restore: boolean;
}

/** Returns the plan of a repair; null if nothing is wrong. A file of another program is never touched: `refused`. */
export function planRepair(facts: PairFacts): RepairPlan | 'refused' | null {
  const trouble = troubleOf(facts);
  if (trouble === null) return null;
  if (facts.mirror === 'foreign' || facts.inbox === 'foreign') return 'refused';
  const place = (found: Condition) => (found === 'well' ? 'keep' : found === 'missing' ? 'none' : 'quarantine');
  const mirror = place(facts.mirror);
  return { mirror, inbox: place(facts.inbox), restore: mirror !== 'keep' && facts.backup };
}
