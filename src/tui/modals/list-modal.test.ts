import { describe, expect, test, vi } from "vitest"

import { plainTheme } from "../../../test/fixtures/tui/themes.ts"
import { drawn, press, type } from "../../../test/support/modal-driver.ts"
import type { Choice, ChoiceList, Picked, Preview } from "../../commands/choice-list.ts"
import { createListModal } from "./list-modal.ts"
import { renderPreview } from "./render-preview.ts"
import type { Decision, Modal } from "./modal.ts"

const FRUIT: readonly Choice<string>[] = [
  { value: "apple", label: "Apple", details: ["red"] },
  { value: "banana", label: "Banana", details: ["yellow"], isCurrent: true },
  { value: "cherry", label: "Cherry pie", description: "sweet", details: ["red"], keywords: "stone" },
]

/** Opens a list and waits until it is loaded. */
async function open(
  list: Partial<ChoiceList<string>> = {},
  choices: readonly Choice<string>[] = FRUIT,
): Promise<Modal<Picked<string> | undefined>> {
  const modal = createListModal<string>({ title: "Fruit", load: () => Promise.resolve({ choices }), ...list })
  await nextChange(modal)
  return modal
}

function nextChange<T>(modal: Modal<T>): Promise<Decision<T> | undefined> {
  return new Promise((resolve) => {
    modal.changed = resolve
  })
}

test("a list with its current choice, digits and facts", async () => {
  expect(drawn(await open(), { columns: 60 })).toEqual([
    "── Fruit ────────────────────────────────────────────── 3 ──",
    "> type to filter",
    "  1   Apple                                           red",
    "› 2 ● Banana                                          yellow",
    "  3   Cherry pie  sweet                               red",
    "Enter chooses · Esc leaves",
  ])
})

test.each([
  [["enter"], "banana"],
  [["up", "enter"], "apple"],
  [["down", "down", "enter"], "apple"],
  [["pagedown", "enter"], "cherry"],
  [["ctrl+home", "enter"], "apple"],
  [["3"], "cherry"],
  [["a", "p", "enter"], "apple"],
  [["s", "t", "o", "n", "e", "enter"], "cherry"],
  [["s", "w", "e", "e", "t", "enter"], "cherry"],
  [["y", "e", "l", "backspace", "backspace", "backspace", "enter"], "apple"],
  [["c", "h", "space", "p", "i", "enter"], "cherry"],
] as const)("%j chooses %s", async (keys, value) => {
  expect(press(await open(), keys)?.decision).toEqual({ value, mode: undefined })
})

test.each([
  [["9"], "no decision"],
  [["z", "z", "enter"], "no decision"],
  [["z", "1"], "no decision"],
  [["escape"], "left"],
  [["z", "ctrl+c"], "left"],
] as const)("%j: %s", async (keys, outcome) => {
  const decided = press(await open(), keys)
  expect(decided).toEqual(outcome === "left" ? { decision: undefined } : undefined)
})

describe("loading", () => {
  test("shows that it is loading, and what failed", async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const modal = createListModal({ title: "Fruit", load: () => promise })
    expect(drawn(modal, { columns: 60 })[2]).toBe("  Loading…")
    const changed = nextChange(modal)
    reject(new Error("the database\u001B[2J is locked"))
    await changed
    expect(drawn(modal, { columns: 60 })[2]).toBe("  The list could not be loaded: the database is locked.")
    expect(press(modal, ["enter", "1", "x"])).toBeUndefined()
  })

  test("an empty list and a note are explained", async () => {
    const modal = await open(
      { emptyText: "There is no fruit.", load: () => Promise.resolve({ choices: [], note: "It is winter." }) },
      [],
    )
    expect(drawn(modal, { columns: 60 }).slice(2)).toEqual([
      "  There is no fruit.",
      "It is winter.",
      "Enter chooses · Esc leaves",
    ])
  })

  test("a filter without matches says so, and keeps the height", async () => {
    const modal = await open()
    const before = drawn(modal).length
    type(modal, "zz")
    const rows = drawn(modal)
    expect([rows.length, rows[2]]).toEqual([before, "  Nothing matches. Backspace changes the filter."])
  })
})

test("values outside the list can be typed; digits then belong to them", async () => {
  const modal = await open({ freeEntry: (text) => (text.length > 1 ? text : undefined) })
  expect(press(modal, ["2"])).toBeUndefined()
  type(modal, "0 kiwis")
  expect(drawn(modal, { columns: 60 })[2]).toBe("› Use “20 kiwis”")
  expect(press(modal, ["enter"])?.decision).toEqual({ value: "20 kiwis", mode: undefined })
})

test.each([
  ["ban", "ban"],
  ["Banana", "banana"],
  ["p", "apple"],
])("a usable text is chosen before entries that contain it: %s", async (text, value) => {
  const list: Partial<ChoiceList<string>> = { freeEntry: (typed) => typed, prefersTyped: (typed) => typed.length > 1 }
  const modal = await open(list)
  type(modal, text)
  expect(press(modal, ["enter"])?.decision?.value).toBe(value)
})

test("what is typed while the list is loading decides, not the current choice", async () => {
  const { promise, resolve } = Promise.withResolvers<{ choices: readonly Choice<string>[] }>()
  const modal = createListModal({ title: "Fruit", load: () => promise })
  type(modal, "e")
  const changed = nextChange(modal)
  resolve({ choices: FRUIT.map((choice) => ({ ...choice, isCurrent: choice.value === "cherry" })) })
  await changed
  expect(press(modal, ["enter"])?.decision?.value).toBe("apple")
})

test("a secret is not shown", async () => {
  const modal = await open({ freeEntry: (text) => text, isSecret: true }, [])
  type(modal, "hunter2")
  expect(drawn(modal, { columns: 60 }).join("\n")).not.toContain("hunter2")
  expect(press(modal, ["enter"])?.decision?.value).toBe("hunter2")
})

test("Tab switches the mode that is passed on", async () => {
  const modal = await open({ modes: ["here", "everywhere"] })
  press(modal, ["tab"])
  expect(drawn(modal, { columns: 40 })[0]).toBe("── Fruit · everywhere ───────────── 3 ──")
  expect(press(modal, ["enter"])?.decision).toEqual({ value: "banana", mode: "everywhere" })
})

describe("actions", () => {
  const actions: ChoiceList<string>["actions"] = [
    {
      chord: "ctrl+d",
      label: "deletes",
      appliesTo: ({ value }) => value !== "apple",
      confirm: ({ label }) => `Delete ${label}?`,
      run: ({ value }) => Promise.resolve(`Deleted ${value}.`),
    },
    {
      chord: "ctrl+r",
      label: "renames",
      input: ({ label }) => ({ label: "Name", text: label }),
      run: (_choice, { input }) =>
        input === "bad" ? Promise.reject(new Error("no")) : Promise.resolve(`Now ${input}.`),
    },
  ]

  test("a destructive one asks first; only y and Enter confirm", async () => {
    let loads = 0
    const load = () => {
      loads += 1
      return Promise.resolve({ choices: FRUIT })
    }
    const modal = await open({ actions, load })
    press(modal, ["ctrl+d"])
    expect(drawn(modal, { columns: 60 }).slice(-2)).toEqual([
      "Delete Banana?",
      "y and Enter do it, any other key does not",
    ])
    expect(press(modal, ["enter"])).toBeUndefined()
    expect(loads).toBe(1)
    press(modal, ["ctrl+d", "y", "a", "ctrl+d", "y", "enter"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("Deleted banana."))
    expect(loads).toBe(2)
  })

  test("one that does not apply to the choice is not offered", async () => {
    const modal = await open({ actions })
    press(modal, ["up", "ctrl+d"])
    expect(drawn(modal).at(-1)).toBe("Enter chooses · Ctrl+R renames · Esc leaves")
  })

  test("a text is edited, and a failure is a sentence", async () => {
    const modal = await open({ actions })
    press(modal, ["ctrl+r"])
    const drawing = modal.draw({ size: { columns: 40, rows: 10 }, theme: plainTheme, now: 0 })
    expect([drawing.rows.at(-2), drawing.cursor]).toEqual(["Name: Banana", { row: 5, column: 12 }])
    press(modal, ["ctrl+u", "b", "a", "d", "enter"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("That failed: no."))
    press(modal, ["ctrl+r", "s", "enter"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("Now Bananas."))
    press(modal, ["ctrl+r", "escape"])
    expect(press(modal, ["enter"])?.decision?.value).toBe("banana")
  })
})

describe("choosing", () => {
  const value = (name: string): Choice<string> => ({ value: name, label: name })
  const inner: ChoiceList<string> = {
    title: "Inner",
    load: () => Promise.resolve({ choices: [value("core"), value("peel")] }),
  }

  test("can open another list; Esc returns to the first one", async () => {
    const modal = await open({ select: () => Promise.resolve({ kind: "open", list: inner }) })
    press(modal, ["1"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("› 1 core"))
    press(modal, ["escape"])
    expect(drawn(modal).join("\n")).toContain("Banana")
    press(modal, ["1"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("› 1 core"))
    expect(press(modal, ["2"])?.decision?.value).toBe("peel")
  })

  test("can stay, go back, and end later", async () => {
    const list: ChoiceList<string> = {
      ...inner,
      select: (name) =>
        Promise.resolve(name === "core" ? { kind: "stay", note: "Not the core." } : { kind: "back", note: "Peeled." }),
    }
    const modal = await open({
      select: (name) => Promise.resolve(name === "apple" ? { kind: "open", list } : { kind: "done" }),
    })
    press(modal, ["1"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("› 1 core"))
    press(modal, ["1"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("Not the core."))
    press(modal, ["2"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("Peeled."))
    const decided = nextChange(modal)
    press(modal, ["3"])
    expect(await decided).toEqual({ decision: { value: "cherry", mode: undefined } })
  })

  test("Esc cancels what takes too long", async () => {
    let aborted = false
    const select: ChoiceList<string>["select"] = (_value, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          aborted = true
          resolve({ kind: "done" })
        })
      })
    const modal = await open({ select })
    press(modal, ["1"])
    expect(drawn(modal).at(-1)).toBe("Working on Apple… Esc cancels")
    expect(press(modal, ["x", "enter", "escape"])).toBeUndefined()
    expect([aborted, drawn(modal).at(-2)]).toEqual([true, "Cancelled."])
  })
})

test("the highlighted choice is reported, and undefined when the user leaves", async () => {
  const seen: (string | undefined)[] = []
  const modal = await open({ onHighlight: (choice) => seen.push(choice?.value) })
  press(modal, ["down", "down", "escape"])
  expect(seen).toEqual(["banana", "cherry", "apple", undefined])
  modal.close?.()
  const other = await open({ onHighlight: (choice) => seen.push(choice?.value) })
  seen.length = 0
  press(other, ["enter"])
  other.close?.()
  expect(seen).toEqual([])
})

describe("the preview", () => {
  test("of an earlier choice is dropped, even if it arrives last", async () => {
    const waiting = new Map<string, (preview: Preview) => void>()
    const modal = await open({
      preview: ({ value }) => new Promise((resolve) => waiting.set(value, resolve)),
    })
    press(modal, ["down"])
    waiting.get("cherry")?.({ kind: "text", text: "about cherries" })
    await nextChange(modal)
    waiting.get("banana")?.({ kind: "text", text: "about bananas" })
    await Promise.resolve()
    expect(drawn(modal)).toContain("about cherries")
    expect(drawn(modal)).not.toContain("about bananas")
  })

  test("scrolls, shows a failure, and is left out on short terminals", async () => {
    const modal = await open({
      preview: ({ value }) =>
        value === "apple"
          ? Promise.reject(new Error("gone"))
          : Promise.resolve({
              kind: "diff",
              text: Array.from({ length: 40 }, (_, line) => `+\tline ${line}`).join("\n"),
            }),
    })
    await vi.waitFor(() => expect(drawn(modal)).toContain("+    line 0"))
    press(modal, ["ctrl+f"])
    expect(drawn(modal)).not.toContain("+    line 0")
    press(modal, ["ctrl+b"])
    expect(drawn(modal)).toContain("+    line 0")
    expect(drawn(modal, { rows: 9 }).join("\n")).not.toContain("line")
    press(modal, ["up"])
    await vi.waitFor(() => expect(drawn(modal)).toContain("It could not be loaded: gone."))
  })
})

test("a diff is rendered with the colours of the transcript", async () => {
  const text = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\u001B[2J\n+new\n"
  const modal = createListModal<string>(
    {
      title: "Fruit",
      load: () => Promise.resolve({ choices: FRUIT }),
      preview: () => Promise.resolve({ kind: "diff", text }),
    },
    { renderPreview },
  )
  await vi.waitFor(() => expect(drawn(modal).join("\n")).toMatch(/a\/x → b\/x[^]*- old[^]*\+ new/u))
})

test("a search adds what the list does not contain, and late results are dropped", async () => {
  const waiting: ((found: readonly Choice<string>[]) => void)[] = []
  const modal = await open({ search: () => new Promise((resolve) => waiting.push(resolve)) })
  type(modal, "pie")
  type(modal, "s")
  const found = (name: string): readonly Choice<string>[] => [{ value: name, label: name, group: "Found in messages" }]
  waiting[1]?.(found("pies for all"))
  await nextChange(modal)
  waiting[0]?.(found("late"))
  await Promise.resolve()
  expect(drawn(modal, { columns: 60 }).slice(2, 4)).toEqual(["Found in messages", "› pies for all"])
})

test("several thousand choices: the visible ones are drawn, and the highlighted one is always visible", async () => {
  const many = Array.from({ length: 5000 }, (_, index) => ({
    value: String(index),
    label: `entry ${index}`,
    group: `group ${Math.floor(index / 3)}`,
  }))
  const modal = await open({}, many)
  for (const keys of [["up"], ["pageup"], ["ctrl+home"], ["down", "down", "down"], ["pagedown", "pagedown", "up"]]) {
    press(modal, keys)
    for (const rows of [5, 10, 24]) expect(drawn(modal, { rows }).filter((row) => row.startsWith("›"))).toHaveLength(1)
  }
  type(modal, "entry 4321")
  expect(drawn(modal).slice(0, 4)).toEqual([
    "── Fruit ────────────────────────────────────────────────────────── 1 of 5000 ──",
    "> entry 4321",
    "group 1440",
    "› entry 4321",
  ])
})

test.each([40, 60, 80, 120])("hostile titles fit at %s columns", async (columns) => {
  const evil = "\u001B[2J\u001B]0;x\u0007日本\u202Eתל 👩‍👩‍👧 \r\n› 1 Fake"
  const choices = Array.from({ length: 12 }, (_, index) => ({
    value: String(index),
    label: evil.repeat(index + 1),
    description: evil,
    details: [evil, evil],
    group: index % 2 === 0 ? evil : "plain",
    keywords: evil,
    isCurrent: index === 3,
  }))
  const actions: ChoiceList<string>["actions"] = [
    { chord: "ctrl+d", label: "deletes", confirm: ({ label }) => `Delete ${label}?`, run: () => Promise.resolve(evil) },
  ]
  const modal = await open(
    { title: evil, hint: evil, actions, preview: () => Promise.resolve({ kind: "text", text: evil }) },
    choices,
  )
  const check = () => {
    for (const rows of [1, 2, 3, 4, 5, 8, 10, 24]) drawn(modal, { columns, rows })
  }
  check()
  press(modal, ["ctrl+d"])
  check()
  press(modal, ["y", "enter"])
  await nextChange(modal)
  check()
  type(modal, "日本")
  check()
})
