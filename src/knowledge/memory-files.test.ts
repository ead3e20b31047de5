import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { temporaryHome } from "../../test/support/temporary-home.ts"
import { addMemory, readMemory } from "./memory-files.ts"

test("entries are kept in the form of the P-edition", async () => {
  await using place = await temporaryHome()
  const file = { path: join(place.path, "memories/MEMORY.md"), limitChars: 30 }
  expect(readMemory(file)).toEqual([])
  expect(await addMemory(file, " first ")).toEqual({ ok: true, value: { usedChars: 5, limitChars: 30 } })
  await addMemory(file, "zweites 😀")
  expect([await readFile(file.path, "utf8"), readMemory(file)]).toEqual([
    "first\n§\nzweites 😀",
    ["first", "zweites 😀"],
  ])
})

test("a repeated entry changes nothing, even where there is no room", async () => {
  await using place = await temporaryHome({ files: { m: "a long entry\n§\n\n§\nb" } })
  const file = { path: join(place.path, "m"), limitChars: 3 }
  expect(await addMemory(file, "b")).toEqual({ ok: true, value: { usedChars: 16, limitChars: 3 } })
  expect(await readFile(file.path, "utf8")).toBe("a long entry\n§\n\n§\nb")
})

test.each([
  ["", "an empty entry cannot be kept"],
  ["a § b", "an entry may not contain the separator §"],
  ["x".repeat(11), "memory is full: 11 of 10 characters with this entry; shorten it or remove older entries"],
])("%j is not kept", async (text, error) => {
  await using place = await temporaryHome()
  expect(await addMemory({ path: join(place.path, "m"), limitChars: 10 }, text)).toEqual({ ok: false, error })
})

test("entries of two writers are both kept", async () => {
  await using place = await temporaryHome()
  const file = { path: join(place.path, "m"), limitChars: 1000 }
  await Promise.all(Array.from({ length: 6 }, (_, index) => addMemory(file, `entry ${index}`)))
  expect(readMemory(file).toSorted()).toEqual(Array.from({ length: 6 }, (_, index) => `entry ${index}`))
})

test("a file that cannot be written is explained", async () => {
  await using place = await temporaryHome()
  await writeFile(join(place.path, "file"), "")
  const below = await addMemory({ path: join(place.path, "file/m"), limitChars: 10 }, "x")
  await mkdir(join(place.path, "dir"))
  const directory = await addMemory({ path: join(place.path, "dir"), limitChars: 10 }, "x")
  expect([below, directory]).toEqual([
    { ok: false, error: expect.stringMatching(/^the entry was not saved: /) },
    { ok: false, error: "the entry was not saved: it is a directory" },
  ])
})
