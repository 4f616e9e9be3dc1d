/*
 * Light stemmers for languages that Snowball has none for: they take the endings of nouns and adjectives off a folded
 * word. Two forms of a word have to come out alike; the result need not be a word.
 */

interface Endings {
  /** Endings of cases, separated by spaces. The longest one that leaves three letters is taken off. */
  readonly cases: string;
  /** Ending of names and adjectives, in front of those of the cases: Karlově and Karlův. */
  readonly names: readonly string[];
  /** Vowels that come and go in front of the last consonant: zamek, zamku. */
  readonly fleeting: string;
  readonly vowels: string;
  /** Last consonants that cases change: synagoga, synagodze. */
  readonly softened: readonly (readonly [soft: string, hard: string])[];
}

const czech: Endings = {
  cases: 'a e i o u y eho emu ych ich ymi imi ami emi ach iach ech och em im ym um om am ou ovi ove ovia ej uv iu ie ia ii',
  names: ['ov'],
  fleeting: 'e',
  vowels: 'aeiouy',
  softened: [['c', 'k'], ['z', 'h']],
}; // biome-ignore format: a table

const polish: Endings = {
  cases: `a e i o u y ego iego emu iemu ych ich ymi imi ami iami ach iach ej iej em iem ym im om iom um owi owie ia ie ii io iu`,
  names: ['ow'],
  fleeting: 'e',
  vowels: 'aeiouy',
  softened: [['szc', 'szt'], ['sc', 'st'], ['rz', 'r'], ['dz', 'g'], ['c', 'k']],
}; // biome-ignore format: a table

// Folded: й is и, ї is і.
const ukrainian: Endings = {
  cases: `а я о е є и і у ю ь ии іи ого ього ому ьому ими іми их іх им ім ою ею єю оі еі єі ами ями ах ях ам ям ові еві єві ом ем єм ію ія іі еи еів еям еях еями еєм`,
  names: ['ов', 'ев', 'ів'],
  fleeting: 'ое',
  vowels: 'аеєиіоуюя',
  softened: [['ц', 'к'], ['з', 'г']],
}; // biome-ignore format: a table

const leastLeft = 3;

/** Stemmers of folded words by language. */
export const lightStemmers: Readonly<Record<string, (folded: string) => string>> = {
  cs: withoutEndings(czech),
  pl: withoutEndings(polish),
  sk: withoutEndings(czech),
  uk: withoutEndings(ukrainian),
};

function withoutEndings({ cases, names, fleeting, vowels, softened }: Endings): (folded: string) => string {
  const endings = cases.split(' ').sort((one, other) => other.length - one.length);
  const lost = new RegExp(`([^${vowels}])[${fleeting}]([^${vowels}])$`);
  const without = (word: string, ends: readonly string[]) => {
    const end = ends.find((each) => word.endsWith(each) && word.length - each.length >= leastLeft);
    return end === undefined ? word : word.slice(0, -end.length);
  };
  return (folded) => {
    const stem = without(without(folded, endings), names);
    const short = stem.replace(lost, '$1$2');
    const kept = short.length < leastLeft ? stem : short;
    const change = softened.find(([soft]) => kept.endsWith(soft));
    return change === undefined ? kept : kept.slice(0, -change[0].length) + change[1];
  };
}
