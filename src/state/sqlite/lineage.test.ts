import { expect, test } from "vitest"
import { NOW, session, sessionId, temporaryStore } from "../../../test/fixtures/state/temporary-store.ts"
import type { TemporaryStore } from "../../../test/fixtures/state/temporary-store.ts"

async function withTitles(t: TemporaryStore): Promise<void> {
  const titles = ["my project", "my project #2", "my project #5", "a_b", "axb #9"]
  for (const [index, title] of titles.entries()) {
    await t.store.createSession(session(`s${index}`, { startedAt: NOW + index }))
    expect(await t.store.setTitle(sessionId(`s${index}`), title)).toEqual({ kind: "set", title })
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
])("the title %j resolves to %j", async (title, id) => {
  await using t = await temporaryStore()
  await withTitles(t)
  expect(await t.store.resolveTitle(title)).toBe(id)
})

test("setting a title: taken, too long, missing session, removal", async () => {
  await using t = await temporaryStore()
  await withTitles(t)
  expect(await t.store.setTitle(sessionId("s0"), "a_b")).toEqual({ kind: "taken", by: "s3" })
  expect(await t.store.setTitle(sessionId("s3"), " a_b ")).toEqual({ kind: "set", title: "a_b" })
  expect(await t.store.setTitle(sessionId("s0"), "s3")).toEqual({ kind: "taken", by: "s3" })
  expect(await t.store.setTitle(sessionId("s0"), "s0")).toEqual({ kind: "set", title: "s0" })
  expect(await t.store.setTitle(sessionId("s0"), "x".repeat(101))).toEqual({
    kind: "too-long",
    length: 101,
    limit: 100,
  })
  expect(await t.store.setTitle(sessionId("missing"), "fine")).toEqual({ kind: "no-session" })
  expect(await t.store.setTitle(sessionId("s0"), "  ")).toEqual({ kind: "set", title: null })
})

test("generated titles avoid duplicates and never overwrite", async () => {
  await using t = await temporaryStore()
  await withTitles(t)
  await t.store.createSession(session("new"))
  expect(await t.store.setGeneratedTitle(sessionId("new"), "my project")).toBe("my project #6")
  expect(await t.store.setGeneratedTitle(sessionId("new"), "other")).toBe("my project #6")
  expect(await t.store.setGeneratedTitle(sessionId("missing"), "other")).toBeUndefined()
})

test("ids resolve exactly or by a unique prefix; wildcards are plain text", async () => {
  await using t = await temporaryStore()
  for (const id of ["20270101_a1", "20270101_a2", "20270102_%", "uuid-Ω"]) await t.store.createSession(session(id))
  const resolved = await Promise.all(
    ["20270101_a1", "20270102", "20270101", "20270101_a", "%", "_", "uuid", "", "zzz"].map((text) =>
      t.store.resolveId(text),
    ),
  )
  expect(resolved).toEqual([
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

test("a conversation is resumed by old id, title or prefix, always at its newest session", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("root_1"))
  await t.store.append(sessionId("root_1"), [{ role: "user", content: "begin" }])
  await t.store.setTitle(sessionId("root_1"), "plan")
  t.clock.seconds += 10
  await t.store.rotate(sessionId("root_1"), session("next_2"), [{ role: "user", content: "summary" }])
  t.clock.seconds += 10
  await t.store.rotate(sessionId("next_2"), session("last_3"), [{ role: "user", content: "summary 2" }])
  for (const name of ["root_1", "root", "next_2", "plan", "plan #2", "last"]) {
    expect(await t.store.resumeTarget(name)).toBe("last_3")
  }
  expect(await t.store.resumeTarget("plan #9")).toBeUndefined()
  expect((await t.store.session(sessionId("last_3")))?.title).toBe("plan #3")
  expect(await t.store.compressionTip(sessionId("root_1"))).toBe("last_3")
})

test("an exact id wins over a title, a title over a prefix", async () => {
  await using t = await temporaryStore()
  for (const id of ["abc", "abcdef", "other"]) {
    await t.store.createSession(session(id))
    await t.store.append(sessionId(id), [{ role: "user", content: id }])
  }
  await t.store.setTitle(sessionId("other"), "abcd")
  expect(await t.store.resumeTarget("abc")).toBe("abc")
  expect(await t.store.resumeTarget("abcd")).toBe("other")
  expect(await t.store.resumeTarget("abcde")).toBe("abcdef")
})

test("an empty session resolves to its newest child with messages, but never to a delegate", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("empty"))
  await t.store.createSession(
    session("branch", { parent: sessionId("empty"), modelConfig: { _branched_from: "empty" } }),
  )
  await t.store.createSession(session("helper", { parent: sessionId("empty"), startedAt: NOW + 5 }))
  await t.store.append(sessionId("helper"), [{ role: "user", content: "delegated" }])
  expect(await t.store.resumeTarget("empty")).toBe("empty")
  await t.store.append(sessionId("branch"), [{ role: "user", content: "here" }])
  expect(await t.store.resumeTarget("empty")).toBe("branch")
})

test("a continuation never starts before its parent ends, even when the clock was set back", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(
    session("old", { userId: "u", model: "m", cwd: "/w", modelConfig: { max_iterations: 3 } }),
  )
  await t.store.setTitle(sessionId("old"), "title")
  await t.store.endSession(sessionId("old"), "cli_close")
  t.clock.seconds = NOW - 5000
  const ids = await t.store.rotate(sessionId("old"), session("new", { source: "ignored", startedAt: 0 }), [
    { role: "user", content: "summary" },
  ])
  expect(ids).toEqual([1])
  const [parent, child] = [await t.store.session(sessionId("old")), await t.store.session(sessionId("new"))]
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
  await expect(t.store.rotate(sessionId("old"), session("taken"))).rejects.toMatchObject({ kind: "exists" })
  expect(await t.store.session(sessionId("old"))).toMatchObject({ endedAt: null, endReason: null })
})

const userMessage = (content: string) => ({ role: "user", content }) as const

test("a rotation copies messages added since; a second one, or one after an undo, is rejected", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(session("old"), [userMessage("one"), userMessage("two")], "t")
  const known = { revision: (await t.store.revision(sessionId("old")))!, lastMessageId: 2 }
  expect(known.revision).toEqual({ messageCount: 2, rewinds: 0, continued: false })
  await t.store.append(sessionId("old"), [userMessage("three")])
  expect(await t.store.revision(sessionId("old"))).toEqual({ messageCount: 3, rewinds: 0, continued: false })
  await t.store.rotate(sessionId("old"), session("new"), [userMessage("summary")], known)
  expect((await t.store.conversation(sessionId("new"))).map(({ content }) => content)).toEqual(["summary", "three"])
  expect(await t.store.revision(sessionId("new"))).toEqual({ messageCount: 2, rewinds: 0, continued: false })

  await expect(t.store.rotate(sessionId("old"), session("fork"), [], known)).rejects.toMatchObject({ kind: "moved" })
  expect((await t.store.lineage(sessionId("old"))).map(({ id }) => id).toSorted()).toEqual(["new", "old"])

  await t.store.startSession(session("undone"), [userMessage("one"), userMessage("two")], "u")
  const before = { revision: (await t.store.revision(sessionId("undone")))!, lastMessageId: 6 }
  await t.store.undoTo(sessionId("undone"), 6)
  await expect(t.store.rotate(sessionId("undone"), session("x"), [], before)).rejects.toMatchObject({ kind: "moved" })
  expect(await t.store.session(sessionId("undone"))).toMatchObject({ endReason: null })
})

test("appending with `open` to a continued session is rejected", async () => {
  await using t = await temporaryStore()
  await t.store.startSession(session("old"), [userMessage("one")], "t")
  await t.store.append(sessionId("old"), [userMessage("two")], undefined, { open: true })
  await t.store.rotate(sessionId("old"), session("new"), [userMessage("summary")])
  await expect(
    t.store.append(sessionId("old"), [userMessage("late")], undefined, { open: true }),
  ).rejects.toMatchObject({
    kind: "moved",
  })
  await t.store.append(sessionId("old"), [userMessage("three")])
  expect((await t.store.conversation(sessionId("old"))).map(({ content }) => content)).toEqual(["one", "two", "three"])
})

test("a branch copies every field, unknown columns included, and takes a free title", async () => {
  await using t = await temporaryStore()
  t.raw((db) => db.exec("ALTER TABLE messages ADD COLUMN future TEXT"))
  await t.store.createSession(session("old"))
  await t.store.append(sessionId("old"), [
    { role: "user", content: [{ type: "text", text: "see" }], platformMessageId: "p1", tokenCount: 4 },
    { role: "assistant", content: "a", reasoning_details: [{ s: 1 }], codex_message_items: [{ id: "m" }] },
  ])
  t.raw((db) => db.exec("UPDATE messages SET future = 'kept'"))
  expect(await t.store.branch(sessionId("old"), session("b1"), {})).toBe("branch")
  expect(await t.store.branch(sessionId("b1"), session("b2"), {})).toBe("branch #2")
  expect(await t.store.branch(sessionId("b2"), session("b3"), { title: "branch" })).toBe("branch #3")
  expect(await t.store.branch(sessionId("b2"), session("b4"), { title: "own name #7" })).toBe("own name #7")
  const rows = (id: string): unknown[] =>
    t.raw((db) =>
      db
        .prepare("SELECT * FROM messages WHERE session_id = ? ORDER BY id")
        .all(id)
        .map(({ id: _id, session_id: _session, ...rest }) => rest),
    )
  expect(rows("b4")).toEqual(rows("old"))
  expect(await t.store.session(sessionId("old"))).toMatchObject({ endReason: "branched" })
  expect(await t.store.session(sessionId("b1"))).toMatchObject({
    parent: "old",
    modelConfig: { _branched_from: "old" },
    messageCount: 2,
  })
})

test("a branch can end at an earlier message; a message of another session is rejected", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("old"))
  const [first, second] = await t.store.append(sessionId("old"), [
    { role: "user", content: "one" },
    { role: "assistant", content: "two" },
    { role: "user", content: "three" },
  ])
  await t.store.createSession(session("other"))
  const [foreign] = await t.store.append(sessionId("other"), [{ role: "user", content: "elsewhere" }])
  await expect(t.store.branch(sessionId("old"), session("no"), { upTo: foreign! })).rejects.toMatchObject({
    message: `There is no message ${foreign} in session old.`,
  })
  expect(await t.store.session(sessionId("no"))).toBeUndefined()
  expect(await t.store.session(sessionId("old"))).toMatchObject({ endReason: null, messageCount: 3 })
  await t.store.branch(sessionId("old"), session("fork"), { upTo: second! })
  expect((await t.store.messages(sessionId("fork"))).map((row) => row.text)).toEqual(["one", "two"])
  expect(await t.store.session(sessionId("fork"))).toMatchObject({ parent: "old", messageCount: 2 })
  expect((await t.store.messages(sessionId("old"))).map((row) => row.id)[0]).toBe(first)
})

test("a child without a marker is marked as a delegate, unless it is a continuation", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("parent"))
  await t.store.createSession(session("helper", { parent: sessionId("parent"), modelConfig: { max_iterations: 50 } }))
  await t.store.endSession(sessionId("parent"), "compression")
  await t.store.createSession(session("next", { parent: sessionId("parent"), startedAt: NOW + 1 }))
  expect((await t.store.session(sessionId("helper")))?.modelConfig).toEqual({
    max_iterations: 50,
    _delegate_from: "parent",
  })
  expect((await t.store.session(sessionId("next")))?.modelConfig).toEqual({})
})

test("the lineage of a session contains every relation", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("root"))
  await t.store.createSession(session("helper", { parent: sessionId("root"), startedAt: NOW + 1 }))
  t.clock.seconds = NOW + 2
  await t.store.branch(sessionId("root"), session("fork"), {})
  t.clock.seconds = NOW + 3
  await t.store.rotate(sessionId("fork"), session("tip"))
  await t.store.createSession(session("unrelated"))
  const kinds = (nodes: readonly { readonly id: string; readonly kind: string }[]): string[] =>
    nodes.map((node) => `${node.id}:${node.kind}`)
  const tree = ["root:conversation", "helper:delegate", "fork:branch", "tip:continuation"]
  expect(kinds(await t.store.lineage(sessionId("tip")))).toEqual(tree)
  expect(kinds(await t.store.lineage(sessionId("root")))).toEqual(tree)
  expect(kinds(await t.store.lineage())).toHaveLength(5)
  expect(await t.store.lineageRoot(sessionId("tip"))).toBe("root")
})

test("archiving affects the whole chain from any of its sessions", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("one"))
  t.clock.seconds += 1
  await t.store.rotate(sessionId("one"), session("two"))
  t.clock.seconds += 1
  await t.store.rotate(sessionId("two"), session("three"))
  await t.store.branch(sessionId("three"), session("fork"), {})
  await t.store.setArchived(sessionId("two"), true)
  const archived = async (): Promise<boolean[]> =>
    await Promise.all(
      ["one", "two", "three", "fork"].map(async (id) => (await t.store.session(sessionId(id)))!.archived),
    )
  expect(await archived()).toEqual([true, true, true, false])
  await t.store.setArchived(sessionId("three"), false)
  expect(await archived()).toEqual([false, false, false, false])
})

test("only one holder has the compression lock, until it releases it or it expires", async () => {
  await using t = await temporaryStore()
  const id = sessionId("a")
  expect(await t.store.tryLockCompression(id, "one")).toBe(true)
  expect(await t.store.tryLockCompression(id, "two")).toBe(false)
  await t.store.releaseCompression(id, "two")
  expect(await t.store.tryLockCompression(id, "two")).toBe(false)
  t.clock.seconds += 301
  expect(await t.store.tryLockCompression(id, "two")).toBe(true)
  await t.store.releaseCompression(id, "two")
  expect(await t.store.tryLockCompression(id, "one")).toBe(true)
})

test("ending an ended session changes nothing, and reopening clears the end", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a"))
  await t.store.endSession(sessionId("a"), "cli_close")
  t.clock.seconds += 9
  await t.store.endSession(sessionId("a"), "idle_timeout")
  expect(await t.store.session(sessionId("a"))).toMatchObject({ endedAt: NOW, endReason: "cli_close" })
  await t.store.reopenSession(sessionId("a"))
  expect(await t.store.session(sessionId("a"))).toMatchObject({ endedAt: null, endReason: null })
})

test("creating a taken id is rejected, and ensuring it changes nothing", async () => {
  await using t = await temporaryStore()
  await t.store.createSession(session("a", { model: "m" }))
  await expect(t.store.createSession(session("a"))).rejects.toMatchObject({ kind: "exists" })
  await t.store.ensureSession(session("a", { source: "tui", model: "other" }))
  expect(await t.store.session(sessionId("a"))).toMatchObject({ source: "cli", model: "m" })
})

test("a conversation compressed 250 times resumes and lists at its end", async () => {
  await using t = await temporaryStore()
  const ids = Array.from({ length: 251 }, (_, index) => `s${String(index).padStart(3, "0")}`)
  await t.store.startSession(session("s000"), [{ role: "user", content: "the beginning" }], "Long talk")
  for (const [index, id] of ids.slice(1).entries()) {
    await t.store.rotate(sessionId(ids[index] ?? ""), session(id, { startedAt: NOW + index + 1 }), [
      { role: "user", content: `part ${index + 1}` },
    ])
  }
  const last = ids.at(-1)
  expect(await t.store.compressionTip(sessionId("s000"))).toBe(last)
  expect(await Promise.all(["s000", "s099", "s101", "Long talk"].map((name) => t.store.resumeTarget(name)))).toEqual(
    Array.from({ length: 4 }, () => last),
  )
  const listed = await t.store.list({})
  expect(listed.map(({ id, lineageRoot }) => [id, lineageRoot])).toEqual([[last, "s000"]])
  expect(await t.store.lineageRoot(sessionId(last ?? ""))).toBe("s000")
  expect((await t.store.conversation(sessionId(last ?? ""), { withAncestors: true })).length).toBe(251)
})

test("a cycle in a damaged database ends every walk", async () => {
  await using t = await temporaryStore()
  for (const id of ["a", "b", "c"]) await t.store.startSession(session(id), [{ role: "user", content: id }], id)
  t.raw((db) =>
    db.exec(`UPDATE sessions SET end_reason = 'compression', ended_at = started_at,
      parent_session_id = CASE id WHEN 'a' THEN 'c' WHEN 'b' THEN 'a' ELSE 'b' END`),
  )
  expect(await t.store.compressionTip(sessionId("a"))).toBe("c")
  expect(await t.store.lineageRoot(sessionId("a"))).toBe("b")
  expect(await t.store.conversation(sessionId("a"), { withAncestors: true })).toHaveLength(3)
  expect(await t.store.list({})).toEqual([])
})
