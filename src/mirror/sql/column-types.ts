import type { ImageSize, ImageType } from '../../catalogue/image.rules.ts';
import type { ChangeKind } from '../../feed/change.rules.ts';
import type { Instant } from '../../kernel/clock.ts';
import type { ChangeType, SubscriptionType } from '../../push/subscription.rules.ts';
import type { OperationKind } from '../../says/conditions/outcome.rules.ts';
import type { DueReason } from '../../schedule/record.rules.ts';
import type { Resource } from '../../schedule/resources.rules.ts';
import type { SiblingSubject } from '../../schedule/siblings.rules.ts';
import type { SignalTier } from '../../schedule/signal.rules.ts';
import type { Subject } from '../../trust/claims.rules.ts';
import type { Hold } from '../../trust/hold.rules.ts';

/**
 * Types of columns that their schema lacks, by the name of a column or of one in a table. `tables.ts` takes the others from
 * the schema: its types, its checks, names that end in `_at`; and from the flags and words that the contract declares.
 */
export interface ColumnTypes {
  resource: Resource;
  '_target.resource': string;
  subject: Subject;
  due_reason: DueReason;
  fetched_reason: DueReason;
  '_change.reason': DueReason;
  '_change.kind': ChangeKind;
  '_held.state': Hold['state'];
  '_held.decision': 'approved' | 'rejected';
  '_expected_notice.change_type': ChangeType;
  '_signal.tier': SignalTier | SiblingSubject;
  '_subscription.type': SubscriptionType;
  size: ImageSize;
  image_size: ImageSize;
  media_type: ImageType;
  shows: 0 | 1;
  publish: 'shown' | 'all';
  /** 0: on sale. 1: not on sale. 2: on sale, but its dates are answered as not on sale. 3: withdrawn. */
  shut: 0 | 1 | 2 | 3;
  valid_from: Instant;
  decided_until: Instant;
  not_before: Instant;
  read_not_before: Instant;
  operation: OperationKind;
}
