import { expect, test } from "vitest"
import { NOW, session, sid, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"

async function withTitles(t: TemporaryStore): Promise<void> {
  const titles = ["my project", "my project #2", "my project #5", "a_b", "axb #9"]
  for (const [index, title] of titles.entries()) {
    await t.store.createSession(session(`s${index}`, { startedAt: NOW + index }))
    expect(await t.store.setTitle(sid(`s${index}`), title)).toEqual({ kind: "set", title })
  }
}

test.each([
  ["my project", "my project #6"],
  ["my project #2", "my project #6"],
  ["my project #5", "my project #6"],
  ["new", "new"],
  ["a_b", "a_b #2"],
  ["x #3", "x"],
])("the next title after %j is %j", async (title, next) => {
  await using t = await temporaryStore()
  await withTitles(t)
  expect(await t.store.nextTitle(title)).toBe(next)
})

test.each([
  ["my project", "s2"],
  ["  my project ", "s2"],
  ["my project #2", "s1"],
  ["a_b", "s3"],
  ["axb", "s4"],
  ["nothing", undefined],
  ["", undefined],
])("the title %j leads to %j", async (title, id) => {
  await using t = await temporaryStore()
  await withTitles(t)
  expect(await t.store.resolveTitle(title)).toBe(id)
})

test("titles a person sets: clash, too long, no session, removal", async () => {
  await using t = await temporaryStore()
  await withTitles(t)
  expect(await t.store.setTitle(sid("s0"), "a_b")).toEqual({ kind: "taken", by: "s3" })
  expect(await t.store.setTitle(sid("s3"), " a_b ")).toEqual({ kind: "set", title: "a_b" })
  expect(await t.store.setTitle(sid("s0"), "x".repeat(101))).toEqual({ kind: "too-long", length: 101, limit: 100 })
  expect(await t.store.setTitle(sid("nobody"), "fine")).toEqual({ kind: "no-session" })
  expect(await t.store.setTitle(sid("s0"), "  ")).toEqual({ kind: "set", title: null })
})

test("generated titles avoid a clash and never overwrite", async () => {
  await using t = await temporaryStore()
  await withTitles(t)
  await t.store.createSession(session("new"))
  expect(await t.store.setGeneratedTitle(sid("new"), "my project")).toBe("my project #6")
  expect(await t.store.setGeneratedTitle(sid("new"), "other")).toBe("my project #6")
  expect(await t.store.setGeneratedTitle(sid("nobody"), "other")).toBeUndefined()
})

test("ids resolve exactly or by a unique prefix; wildcards are plain text", async () => {
  await using t = await temporaryStore()
  for (const id of ["20270101_a1", "20270101_a2", "20270102_%", "uuid-Ω"]) await t.store.createSession(session(id))
  const answers = await Promise.all(
    ["20270101_a1", "20270102", "20270101", "20270101_a", "%", "_", "uuid", "", "zzz"].map((text) =>
      t.store.resolveId(text),
    ),
  )
  expect(answers).toEqual([
    "20270101_a1",
    "20270102_%",
    undefined,
    undefined,
    undefined,
    undefined,
    "uuid-Ω",
    undefined,
    undefined,
  ])
})

test("a conversation is resumed by old id, title or prefix, always at its tip", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("root_1"))
  await t.store.append(sid("root_1"), [{ role: "user", content: "begin" }])
  await t.store.setTitle(sid("root_1"), "plan")
  t.clock.seconds += 10
  await t.store.rotate(sid("root_1"), session("next_2"), [{ role: "user", content: "summary" }])
  t.clock.seconds += 10
  await t.store.rotate(sid("next_2"), session("last_3"), [{ role: "user", content: "summary 2" }])
  for (const name of ["root_1", "root", "next_2", "plan", "plan #2", "last"]) {
    expect(await t.store.resumeTarget(name)).toBe("last_3")
  }
  expect(await t.store.resumeTarget("plan #9")).toBeUndefined()
  expect((await t.store.session(sid("last_3")))?.title).toBe("plan #3")
  expect(await t.store.compressionTip(sid("root_1"))).toBe("last_3")
})

test("an exact id beats a title, a title beats a prefix", async () => {
  await using t = await temporaryStore()
  for (const id of ["abc", "abcdef", "other"]) {
    await t.store.createSession(session(id))
    await t.store.append(sid(id), [{ role: "user", content: id }])
  }
  await t.store.setTitle(sid("other"), "abcd")
  expect(await t.store.resumeTarget("abc")).toBe("abc")
  expect(await t.store.resumeTarget("abcd")).toBe("other")
  expect(await t.store.resumeTarget("abcde")).toBe("abcdef")
})

test("an empty row leads to the newest child that has messages, but never to a delegate", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("empty"))
  await t.store.createSession(session("branch", { parent: sid("empty"), modelConfig: { _branched_from: "empty" } }))
  await t.store.createSession(session("helper", { parent: sid("empty"), startedAt: NOW + 5 }))
  await t.store.append(sid("helper"), [{ role: "user", content: "delegated" }])
  expect(await t.store.resumeTarget("empty")).toBe("empty")
  await t.store.append(sid("branch"), [{ role: "user", content: "here" }])
  expect(await t.store.resumeTarget("empty")).toBe("branch")
})

test("a rotation keeps the order of times even when the clock stepped back", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(
    session("old", { userId: "u", model: "m", cwd: "/w", modelConfig: { max_iterations: 3 } }),
  )
  await t.store.setTitle(sid("old"), "title")
  await t.store.endSession(sid("old"), "cli_close")
  t.clock.seconds = NOW - 5000
  const ids = await t.store.rotate(sid("old"), session("new", { source: "ignored", startedAt: 0 }), [
    { role: "user", content: "summary" },
  ])
  expect(ids).toEqual([1])
  const [parent, child] = [await t.store.session(sid("old")), await t.store.session(sid("new"))]
  expect(parent).toMatchObject({ endReason: "compression", title: "title" })
  expect(child).toMatchObject({
    source: "cli",
    parent: "old",
    userId: "u",
    model: "m",
    cwd: "/w",
    modelConfig: { max_iterations: 3 },
    title: "title #2",
    messageCount: 1,
  })
  expect(child!.startedAt).toBeGreaterThanOrEqual(parent!.endedAt!)
})

test("a rotation whose child cannot be created leaves the parent open", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("old"))
  await t.store.createSession(session("taken"))
  await expect(t.store.rotate(sid("old"), session("taken"))).rejects.toMatchObject({ kind: "exists" })
  expect(await t.store.session(sid("old"))).toMatchObject({ endedAt: null, endReason: null })
})

const says = (content: string) => ({ role: "user", content }) as const

test("a rotation carries over what others added since; a second one, or one behind an undo, is refused", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(session("old"), [says("one"), says("two")], "t")
  const known = { mark: (await t.store.mark(sid("old")))!, head: 2 }
  expect(known.mark).toEqual({ added: 2, rewinds: 0, continued: false })
  await t.store.append(sid("old"), [says("three")])
  expect(await t.store.mark(sid("old"))).toEqual({ added: 3, rewinds: 0, continued: false })
  await t.store.rotate(sid("old"), session("new"), [says("summary")], known)
  expect((await t.store.conversation(sid("new"))).map(({ content }) => content)).toEqual(["summary", "three"])
  expect(await t.store.mark(sid("new"))).toEqual({ added: 2, rewinds: 0, continued: false })

  await expect(t.store.rotate(sid("old"), session("fork"), [], known)).rejects.toMatchObject({ kind: "moved" })
  expect((await t.store.lineage(sid("old"))).map(({ id }) => id).toSorted()).toEqual(["new", "old"])

  await t.store.startSession(session("undone"), [says("one"), says("two")], "u")
  const before = { mark: (await t.store.mark(sid("undone")))!, head: 6 }
  await t.store.undoTo(sid("undone"), 6)
  await expect(t.store.rotate(sid("undone"), session("x"), [], before)).rejects.toMatchObject({ kind: "moved" })
  expect(await t.store.session(sid("undone"))).toMatchObject({ endReason: null })
})

test("nothing is added to a session that goes on elsewhere, unless that is wanted", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(session("old"), [says("one")], "t")
  await t.store.append(sid("old"), [says("two")], undefined, { open: true })
  await t.store.rotate(sid("old"), session("new"), [says("summary")])
  await expect(t.store.append(sid("old"), [says("late")], undefined, { open: true })).rejects.toMatchObject({
    kind: "moved",
  })
  await t.store.append(sid("old"), [says("wanted")])
  expect((await t.store.conversation(sid("old"))).map(({ content }) => content)).toEqual(["one", "two", "wanted"])
})

test("a branch copies every field, unknown columns included, and takes a free title", async () => {
  await using t = await temporaryStore()
  t.raw((db) => db.exec("ALTER TABLE messages ADD COLUMN future TEXT"))
  await t.store.createSession(session("old"))
  await t.store.append(sid("old"), [
    { role: "user", content: [{ type: "text", text: "see" }], platformMessageId: "p1", tokenCount: 4 },
    { role: "assistant", content: "a", reasoning_details: [{ s: 1 }], codex_message_items: [{ id: "m" }] },
  ])
  t.raw((db) => db.exec("UPDATE messages SET future = 'kept'"))
  expect(await t.store.branch(sid("old"), session("b1"), {})).toBe("branch")
  expect(await t.store.branch(sid("b1"), session("b2"), {})).toBe("branch #2")
  expect(await t.store.branch(sid("b2"), session("b3"), { title: "branch" })).toBe("branch #3")
  expect(await t.store.branch(sid("b2"), session("b4"), { title: "own name #7" })).toBe("own name #7")
  const rows = (id: string): unknown[] =>
    t.raw((db) =>
      db
        .prepare("SELECT * FROM messages WHERE session_id = ? ORDER BY id")
        .all(id)
        .map(({ id: _id, session_id: _session, ...rest }) => rest),
    )
  expect(rows("b4")).toEqual(rows("old"))
  expect(await t.store.session(sid("old"))).toMatchObject({ endReason: "branched" })
  expect(await t.store.session(sid("b1"))).toMatchObject({
    parent: "old",
    modelConfig: { _branched_from: "old" },
    messageCount: 2,
  })
})

test("a branch may begin at an earlier message; one of another session changes nothing", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("old"))
  const [first, second] = await t.store.append(sid("old"), [
    { role: "user", content: "one" },
    { role: "assistant", content: "two" },
    { role: "user", content: "three" },
  ])
  await t.store.createSession(session("other"))
  const [foreign] = await t.store.append(sid("other"), [{ role: "user", content: "elsewhere" }])
  await expect(t.store.branch(sid("old"), session("no"), { upTo: foreign! })).rejects.toMatchObject({
    message: `There is no message ${foreign} in session old.`,
  })
  expect(await t.store.session(sid("no"))).toBeUndefined()
  expect(await t.store.session(sid("old"))).toMatchObject({ endReason: null, messageCount: 3 })
  await t.store.branch(sid("old"), session("fork"), { upTo: second! })
  expect((await t.store.messages(sid("fork"))).map((row) => row.text)).toEqual(["one", "two"])
  expect(await t.store.session(sid("fork"))).toMatchObject({ parent: "old", messageCount: 2 })
  expect((await t.store.messages(sid("old"))).map((row) => row.id)[0]).toBe(first)
})

test("a child without a marker is marked as a delegate, a real continuation is not", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("parent"))
  await t.store.createSession(session("helper", { parent: sid("parent"), modelConfig: { max_iterations: 50 } }))
  await t.store.endSession(sid("parent"), "compression")
  await t.store.createSession(session("next", { parent: sid("parent"), startedAt: NOW + 1 }))
  expect((await t.store.session(sid("helper")))?.modelConfig).toEqual({ max_iterations: 50, _delegate_from: "parent" })
  expect((await t.store.session(sid("next")))?.modelConfig).toEqual({})
})

test("the tree of a session names every relation", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("root"))
  await t.store.createSession(session("helper", { parent: sid("root"), startedAt: NOW + 1 }))
  t.clock.seconds = NOW + 2
  await t.store.branch(sid("root"), session("fork"), {})
  t.clock.seconds = NOW + 3
  await t.store.rotate(sid("fork"), session("tip"))
  await t.store.createSession(session("unrelated"))
  const kinds = (nodes: readonly { readonly id: string; readonly kind: string }[]): string[] =>
    nodes.map((node) => `${node.id}:${node.kind}`)
  const tree = ["root:conversation", "helper:delegate", "fork:branch", "tip:continuation"]
  expect(kinds(await t.store.lineage(sid("tip")))).toEqual(tree)
  expect(kinds(await t.store.lineage(sid("root")))).toEqual(tree)
  expect(kinds(await t.store.lineage())).toHaveLength(5)
  expect(await t.store.lineageRoot(sid("tip"))).toBe("root")
})

test("archiving flips the whole chain from any of its sessions", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("one"))
  t.clock.seconds += 1
  await t.store.rotate(sid("one"), session("two"))
  t.clock.seconds += 1
  await t.store.rotate(sid("two"), session("three"))
  await t.store.branch(sid("three"), session("fork"), {})
  await t.store.setArchived(sid("two"), true)
  const archived = async (): Promise<boolean[]> =>
    await Promise.all(["one", "two", "three", "fork"].map(async (id) => (await t.store.session(sid(id)))!.archived))
  expect(await archived()).toEqual([true, true, true, false])
  await t.store.setArchived(sid("three"), false)
  expect(await archived()).toEqual([false, false, false, false])
})

test("only one holder compresses, until it releases or its time is over", async () => {
  await using t = await temporaryStore()
  const id = sid("a")
  expect(await t.store.tryLockCompression(id, "one")).toBe(true)
  expect(await t.store.tryLockCompression(id, "two")).toBe(false)
  await t.store.releaseCompression(id, "two")
  expect(await t.store.tryLockCompression(id, "two")).toBe(false)
  t.clock.seconds += 301
  expect(await t.store.tryLockCompression(id, "two")).toBe(true)
  await t.store.releaseCompression(id, "two")
  expect(await t.store.tryLockCompression(id, "one")).toBe(true)
})

test("the first end wins and reopening clears it", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.endSession(sid("a"), "cli_close")
  t.clock.seconds += 9
  await t.store.endSession(sid("a"), "idle_timeout")
  expect(await t.store.session(sid("a"))).toMatchObject({ endedAt: NOW, endReason: "cli_close" })
  await t.store.reopenSession(sid("a"))
  expect(await t.store.session(sid("a"))).toMatchObject({ endedAt: null, endReason: null })
})

test("a taken id is refused, ensuring it changes nothing", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a", { model: "m" }))
  await expect(t.store.createSession(session("a"))).rejects.toMatchObject({ kind: "exists" })
  await t.store.ensureSession(session("a", { source: "tui", model: "other" }))
  expect(await t.store.session(sid("a"))).toMatchObject({ source: "cli", model: "m" })
})
