/** What a look at one of the two files has found, before anything is written. */
export type Condition =
  | 'missing'
  /** No bytes, or no tables. */
  | 'empty'
  | 'well'
  | 'damaged'
  /** Another program's. */
  | 'foreign'
  /** Written by a newer version. */
  | 'newer';

export interface PairFacts {
  readonly mirror: Condition;
  readonly inbox: Condition;
  /** What the inbox says of its mirror: `none` was made yet, it takes `any`, or has `known` one; null: it cannot be asked. */
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
  | 'inbox-empty'
  | 'inbox-missing'
  | 'mirror-damaged'
  | 'mirror-foreign'
  | 'mirror-newer'
  | 'mirror-empty'
  | 'mirror-missing'
  | 'foreign-pair';

/** Why the two files cannot be started on; null: they can, and what is missing is made. */
export function troubleOf(facts: PairFacts): Trouble | null {
  const { mirror, inbox, expects, paired, backup } = facts;
  if (inbox === 'damaged' || inbox === 'foreign' || inbox === 'newer') return `inbox-${inbox}`;
  if (mirror === 'damaged' || mirror === 'foreign' || mirror === 'newer') return `mirror-${mirror}`;
  if (mirror === 'well') {
    if (inbox === 'missing' || inbox === 'empty') return `inbox-${inbox}`;
    return paired === false && expects !== 'any' ? 'foreign-pair' : null;
  }
  if (mirror === 'empty' && backup) return 'mirror-empty';
  return expects === 'known' ? `mirror-${mirror}` : null;
}

/** What `repair` does to the two files. */
export interface RepairPlan {
  /** `quarantine`: what stands there is set aside first. */
  readonly mirror: 'keep' | 'quarantine' | 'none';
  readonly inbox: 'keep' | 'quarantine' | 'none';
  /** Whether the newest verified copy takes the mirror's place; else it is kept or filled again. */
  readonly restore: boolean;
}

/** Null: nothing is wrong with them. Another program's file is never touched: `refused`. */
export function planRepair(facts: PairFacts): RepairPlan | 'refused' | null {
  const trouble = troubleOf(facts);
  if (trouble === null) return null;
  if (facts.mirror === 'foreign' || facts.inbox === 'foreign') return 'refused';
  const place = (found: Condition) => (found === 'well' ? 'keep' : found === 'missing' ? 'none' : 'quarantine');
  const mirror = place(facts.mirror);
  return { mirror, inbox: place(facts.inbox), restore: mirror !== 'keep' && facts.backup };
}
