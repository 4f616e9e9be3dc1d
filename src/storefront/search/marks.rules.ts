/** Stands before the whole name of a city or a country, written as one term. No letter that is typed becomes it. */
export const placeMark = '·';
/** Stands before initials, so that they are no word: `.mcg`. No letter that is typed becomes it. */
export const abbreviationMark = '.';
