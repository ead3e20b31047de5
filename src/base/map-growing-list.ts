/**
 * Maps lists that grow at their end, such as the history of a conversation: what was derived for a list before is used again, so a call
 * costs a comparison of references and the new items. A list is recognised by the identity of its items.
 */
export function mapGrowingList<Item extends object, Context, Derived>(
  derive: (item: Item, context: Context) => Derived,
): (items: readonly Item[], context: Context) => readonly Derived[] {
  const remembered = new WeakMap<Item, Mapped<Item, Context, Derived>>()
  return (items, context) => {
    const [first] = items
    const known = first === undefined ? undefined : remembered.get(first)
    const same = known?.context === context ? commonLength(known.items, items) : 0
    const derived = known === undefined ? [] : known.derived.slice(0, same)
    for (const item of items.slice(same)) derived.push(derive(item, context))
    if (first !== undefined) remembered.set(first, { items: [...items], context, derived })
    return derived
  }
}

interface Mapped<Item, Context, Derived> {
  readonly items: readonly Item[]
  readonly context: Context
  readonly derived: readonly Derived[]
}

function commonLength<Item>(one: readonly Item[], other: readonly Item[]): number {
  const length = Math.min(one.length, other.length)
  for (let index = 0; index < length; index += 1) if (one[index] !== other[index]) return index
  return length
}
