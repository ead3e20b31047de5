import { existsSync, readdirSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"

import { temporaryHome } from "../../../test/support/temporary-home.ts"
import { environmentFrom } from "../../config/environment.ts"
import { resolveHome } from "../../config/home.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { createPartialReplyFile, readPartialReply, removePartialReplies } from "./partial-reply-file.ts"

const session = toSessionId("20260101_100000_aaaaaa")
const position = { session, after: 7 }

async function open() {
  const temporary = await temporaryHome()
  const home = resolveHome(environmentFrom(temporary.env))
  return {
    home,
    file: createPartialReplyFile(home),
    [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose](),
  }
}

test("the text grows, stays until it is removed, and belongs to the message that it follows", async () => {
  await using opened = await open()
  const { home, file } = opened
  file.write("One", position)
  file.write("One\ntwö", position)
  expect(readPartialReply(home, session, 7)).toBe("One\ntwö")
  removePartialReplies(home, session)
  expect(readPartialReply(home, session, 7)).toBeUndefined()
})

test("a text that does not continue the earlier one replaces it", async () => {
  await using opened = await open()
  opened.file.write("One two", position)
  opened.file.write("Other", position)
  expect(readPartialReply(opened.home, session, 7)).toBe("Other")
})

test.each([
  ["a stored message", (file: ReturnType<typeof createPartialReplyFile>) => file.remove(), 7],
  ["a later message", () => undefined, 8],
])("%s makes the text obsolete", async (_name, change, after) => {
  await using opened = await open()
  opened.file.write("One", position)
  change(opened.file)
  expect(readPartialReply(opened.home, session, after)).toBeUndefined()
  removePartialReplies(opened.home, session)
  expect(readdirSync(opened.home.file("cache", "partial-replies"))).toEqual([])
})

test("a home that cannot be written is no error", async () => {
  await using opened = await open()
  writeFileSync(opened.home.file("cache"), "a file where the directory should be")
  opened.file.write("One", position)
  expect(readPartialReply(opened.home, session, 7)).toBeUndefined()
  expect(existsSync(opened.home.file("cache"))).toBe(true)
})
