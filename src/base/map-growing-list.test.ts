import { expect, test } from "vitest"

import { fc } from "../../test/support/property.ts"
import { mapGrowingList } from "./map-growing-list.ts"

interface Item {
  readonly value: number
}

function createLabels() {
  const derived: number[] = []
  const labels = mapGrowingList(({ value }: Item, prefix: string) => {
    derived.push(value)
    return `${prefix}${value}`
  })
  return { derived, labels }
}

function itemsOf(count: number): readonly Item[] {
  return Array.from({ length: count }, (_, value) => ({ value }))
}

test("derives only the new items of a list that grew, and all of them for another context", () => {
  const { derived, labels } = createLabels()
  const items = itemsOf(5)
  const before = labels(items.slice(0, 3), "a")
  expect(labels(items, "a")).toEqual(["a0", "a1", "a2", "a3", "a4"])
  expect(derived).toEqual([0, 1, 2, 3, 4])
  expect(before).toEqual(["a0", "a1", "a2"])
  expect(labels(items, "b")).toEqual(["b0", "b1", "b2", "b3", "b4"])
})

test("has the result of a plain map, whatever happens to the list", () => {
  const change = fc.record({
    at: fc.nat(30),
    replace: fc.boolean(),
    add: fc.nat(10),
    context: fc.constantFrom("a", "b"),
  })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
      const { labels } = createLabels()
      let items = itemsOf(20)
      for (const { at, replace, add, context } of changes) {
        const kept = replace ? items.map((item, index) => (index === at ? { value: 7 } : item)) : items.slice(0, at)
        items = [...kept, ...itemsOf(add)]
        expect(labels(items, context)).toEqual(items.map(({ value }) => `${context}${value}`))
      }
    }),
  )
})
