/** In the environment of a run: where `reached.ts` notes what a test file has called. */
export const reachedFile = 'CATALOGUED_TEST_REACHED';
