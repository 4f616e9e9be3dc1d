/** The condition of one of the two files, found before anything is written. */
export type Condition =
  | 'missing'
  /** No bytes, or no tables. */
  | 'empty'
  | 'well'
  | 'damaged'
  /** Another program's. */
  | 'foreign'
  /** Written by a newer version. */
  | 'newer'
  /** Written by a development version, before 1.0.0. */
  | 'development';

export interface PairFacts {
  readonly mirror: Condition;
  readonly inbox: Condition;
  /**
   * What the inbox expects of its mirror: `none` exists yet, it accepts `any`, or only the `known` one; null: the inbox
   * cannot be read.
   */
  readonly expects: 'none' | 'any' | 'known' | null;
  /** Whether the two carry one pair id; null: one of them has none. */
  readonly paired: boolean | null;
  /** Whether a verified copy of a mirror exists. */
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

/** Returns why the daemon cannot start with the two files; null: it can, and creates what is missing. */
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

/** What `repair` does to the two files. */
export interface RepairPlan {
  /** `quarantine`: the existing file is set aside first. */
  readonly mirror: 'keep' | 'quarantine' | 'none';
  readonly inbox: 'keep' | 'quarantine' | 'none';
  /** Whether the newest verified copy takes the mirror's place; else it is kept or filled again. */
  readonly restore: boolean;
}

/** Plans the repair; null: nothing is wrong. Another program's file is never touched: `refused`. */
export function planRepair(facts: PairFacts): RepairPlan | 'refused' | null {
  const trouble = troubleOf(facts);
  if (trouble === null) return null;
  if (facts.mirror === 'foreign' || facts.inbox === 'foreign') return 'refused';
  const place = (found: Condition) => (found === 'well' ? 'keep' : found === 'missing' ? 'none' : 'quarantine');
  const mirror = place(facts.mirror);
  return { mirror, inbox: place(facts.inbox), restore: mirror !== 'keep' && facts.backup };
}
