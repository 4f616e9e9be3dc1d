/**
 * Whether everything is tried that takes long: set by `.ci/run`. Else a few of each kind stand for the rest, so that
 * `npm test` ends within four minutes.
 */
export const thorough = process.env.CATALOGUED_TEST_STRICT === '1';
