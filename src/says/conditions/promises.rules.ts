import type { ConditionCode } from './table.rules.ts';

export interface PromiseKind {
  readonly promise: string;
  /** Each condition belongs to one promise at most. */
  readonly broken_by: readonly ConditionCode[];
}

/** The promises other than the freshness targets, and the conditions that break each of them. */
export const promiseTable: readonly PromiseKind[] = [
  {
    promise: 'The mirror is whole, and what is read is stored',
    broken_by: [
      'mirror-lost',
      'mirror-damaged',
      'disk-full',
      'file-locked',
      'answers-unusable',
      'no-progress',
      'fill-endless',
      'daemon-silent',
      'daemon-stopped',
    ],
  },
  { promise: 'Every product of the list is mirrored', broken_by: ['list-incomplete'] },
  {
    promise: 'Every delivery is stored and applied',
    broken_by: ['inbox-lost', 'inbox-damaged', 'deliveries-refused', 'deliveries-stuck'],
  },
  {
    promise: 'Changes are announced to us',
    broken_by: [
      'receiver-unreachable',
      'subscription-silent',
      'subscription-mute',
      'subscription-taken',
      'subscription-broken',
      'subscription-failing',
      'deliveries-not-understood',
    ],
  },
  { promise: 'Storefronts can read the mirror', broken_by: ['readers-shut-out'] },
  { promise: 'Images are confirmed in time', broken_by: ['images-vanished', 'images-unverified'] },
  { promise: 'Dates are those that were asked for', broken_by: ['other-dates'] },
  { promise: 'Every answer can be read', broken_by: ['members-unreadable'] },
  { promise: 'Nothing is held', broken_by: ['held'] },
  { promise: 'What a check finds is what was shown', broken_by: ['often-wrong'] },
  { promise: 'The newest backup can be restored', broken_by: ['backup-failing', 'backup-late', 'backup-unusable'] },
];
