import { expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import { foldGrowingList } from "./fold-growing-list.ts"

interface Item {
  readonly value: number
}

function createSum() {
  const added: number[] = []
  const sum = foldGrowingList(
    () => ({ total: 0 }),
    (state, { value }: Item) => {
      added.push(value)
      state.total += value
    },
  )
  return { added, sum: (items: readonly Item[]) => sum(items).total }
}

function itemsOf(count: number): readonly Item[] {
  return Array.from({ length: count }, (_, value) => ({ value }))
}

test("adds only the new items of a list that grew", () => {
  const { added, sum } = createSum()
  const items = itemsOf(102)
  sum(items.slice(0, 100))
  added.length = 0
  expect(sum(items)).toBe(101 * 51)
  expect(added).toEqual([100, 101])
})

test("a part of a long list does not replace it", () => {
  const { added, sum } = createSum()
  const items = itemsOf(100)
  sum(items)
  sum(items.slice(0, 50))
  added.length = 0
  expect(sum(items)).toBe(99 * 50)
  expect(added).toEqual([])
})

test("has the result of a plain fold, whatever happens to the list", () => {
  const change = fc.record({ at: fc.nat(80), replace: fc.boolean(), add: fc.nat(40) })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const { sum } = createSum()
      let items = itemsOf(40)
      for (const { at, replace, add } of changes) {
        const kept = replace ? items.map((item, index) => (index === at ? { value: 7 } : item)) : items.slice(0, at)
        items = [...kept, ...itemsOf(add)]
        expect(sum(items)).toBe(items.reduce((total, { value }) => total + value, 0))
      }
    }),
  )
})
