/** Shorter lists are folded from the start: remembering them costs more. */
const MIN_REMEMBERED = 32

/**
 * Folds lists that grow at their end, such as the history of a conversation: what was folded for a list before is continued, so a call
 * costs a comparison of references and the new items. A list is recognised by the identity of its items. `add` changes the state that
 * `start` created; callers of the returned function only read it.
 */
export function foldGrowingList<Item extends object, State>(
  start: () => State,
  add: (state: State, item: Item) => void,
): (items: readonly Item[]) => Readonly<State> {
  const remembered = new WeakMap<Item, Fold<Item, State>>()
  return (items) => {
    const [first] = items
    const known = first === undefined ? undefined : remembered.get(first)
    const fold: Fold<Item, State> =
      known !== undefined && beginsWith(items, known.items) ? known : { items: [], state: start() }
    const { items: folded, state } = fold
    for (let index = folded.length; index < items.length; index += 1) {
      const item = items[index]
      if (item === undefined) continue
      add(state, item)
      folded.push(item)
    }
    // A part of a remembered list does not replace it.
    const isPart = known !== undefined && items.length < known.items.length && beginsWith(known.items, items)
    if (first !== undefined && items.length >= MIN_REMEMBERED && !isPart) remembered.set(first, fold)
    return state
  }
}

interface Fold<Item, State> {
  readonly items: Item[]
  readonly state: State
}

function beginsWith<Item>(items: readonly Item[], beginning: readonly Item[]): boolean {
  if (items.length < beginning.length) return false
  for (let index = 0; index < beginning.length; index += 1) {
    if (items[index] !== beginning[index]) return false
  }
  return true
}
