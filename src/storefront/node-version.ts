/*
 * Imported before anything native is: better-sqlite3 ends an older Node with a segmentation fault and not a word.
 */

const [major = 0] = process.versions.node.split('.').map(Number);
if (major < 22) {
  throw new Error(`catalogued/reader needs Node 22 or newer; this is Node ${process.versions.node}`);
}
