import { checkoutInformation, productDetail } from './answers.ts';
import type { SandboxProduct } from './catalogue.ts';
import { applyEdit, type Edit, record, refuseEdit } from './edits.ts';
import type { Past } from './past.ts';

/** A change in the form of its announcement, with the members of its type (specification §2). */
export type ProductChange =
  | {
      readonly change_type: 'checkout_disabled';
      readonly reason: string | null;
      readonly expected_reopening: string | null;
      readonly alternative: number | null;
    }
  | { readonly change_type: 'checkout_enabled' }
  | {
      readonly change_type: 'product_details_update';
      readonly field_name: string;
      readonly type: string;
      readonly old_value: unknown;
      readonly new_value: unknown;
    };

export type SandboxChangeType = ProductChange['change_type'];

export type Announce = (product: SandboxProduct, change: ProductChange) => void;

/** The reason and end of a closure, and the product to sell instead. */
export interface CheckoutClosure {
  readonly reason?: string | null;
  readonly expected_reopening?: string | null;
  /** A product id, which only the notification shows. */
  readonly alternative?: number | null;
}

/**
 * The changes of a product: every read shows them from now on, and they are announced. Throws for a product id that
 * does not exist, and for an invalid edit.
 */
export interface Mutations {
  /** Takes a product off sale. If it is off sale already, it takes the new reason, and nothing is announced. */
  disable(product_id: number, closure?: CheckoutClosure): void;
  /** Puts a product back on sale. If it is on sale already, nothing is announced. */
  enable(product_id: number): void;
  /** Changes a text, the tags, the variants … (edits.ts). An edit without a change is not announced. */
  edit(product_id: number, edit: Edit): void;
}

export function mutations(
  find: (product_id: number) => SandboxProduct | null,
  past: Past,
  announce: Announce,
): Mutations {
  function changing(product_id: number): SandboxProduct {
    const product = find(product_id);
    if (product === null) throw new Error(`the sandbox has no product ${product_id}`);
    past.keep(product);
    return product;
  }

  function setStatus(
    product: SandboxProduct,
    status: SandboxProduct['status'],
    closure: Required<CheckoutClosure>,
  ): boolean {
    const moved = product.status !== status;
    product.status = status;
    product.reason = closure.reason;
    product.reopen = closure.expected_reopening;
    product.alternative = closure.alternative;
    record(product, {
      sale_status: status,
      sale_status_reason: product.reason,
      sale_status_expected_reopen: product.reopen,
    });
    return moved;
  }

  return {
    disable: (product_id, { reason = 'temporary_closure', expected_reopening = null, alternative = null } = {}) => {
      const product = changing(product_id);
      const closure = { reason, expected_reopening, alternative };
      if (setStatus(product, 'unavailable', closure))
        announce(product, { change_type: 'checkout_disabled', ...closure });
    },
    enable: (product_id) => {
      const product = changing(product_id);
      if (setStatus(product, 'available', { reason: null, expected_reopening: null, alternative: null }))
        announce(product, { change_type: 'checkout_enabled' });
    },
    edit: (product_id, edit) => {
      const product = changing(product_id);
      const refused = refuseEdit(edit);
      if (refused !== null) throw new Error(refused);
      const changed = applyEdit(product, edit, shownOf(product));
      if (JSON.stringify(changed.old_value) === JSON.stringify(changed.new_value)) return;
      announce(product, { change_type: 'product_details_update', field_name: edit.field, ...changed });
    },
  };
}

function shownOf(product: SandboxProduct) {
  const detail = JSON.parse(productDetail(product, 'en', 'EUR')) as Record<string, unknown>;
  const checkout = JSON.parse(checkoutInformation(product, 'en')) as Record<string, Record<string, unknown>>;
  return { product: detail, checkout_information: checkout.additional_information ?? {} };
}
