/**
 * Secrets that tests use and nothing may print: `.ci/run` searches the output of the whole suite for what they have in
 * common, which is put together here so that this file does not say it.
 */
const mark = ['canary', '5e', 'cret'].join('-');

export const canary = {
  master: `${mark}-master-0123456789abcdef`,
  key: `${mark}-key-0123456789abcdef`,
  admin: `${mark}-admin-0123456789abcdef`,
  storefront: `${mark}-storefront-0123456789abcdef`,
} as const;

/** What every canary has in it. */
export const canaryMark = mark;
