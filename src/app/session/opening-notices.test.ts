import { expect, test } from "vitest"

import type { Message } from "../../protocol/message.ts"
import { NO_USAGE } from "../../protocol/usage.ts"
import { changedWorkspaceNote, openingWarnings } from "./opening-notices.ts"
import type { CurrentWorkspace } from "./opening-notices.ts"
import type { ResumedSession } from "./resume.ts"

const resumed = (more: Partial<ResumedSession> & { readonly history?: readonly Message[] } = {}): ResumedSession => ({
  messages: new Map((more.history ?? []).map((message, index) => [message, index])),
  revision: { messageCount: 0, rewinds: 0, continued: false },
  lastMessageId: 0,
  system: "You are Hermes.\nCurrent working directory: /a\nBe brief.",
  cwd: "/a",
  spentUsd: 0,
  used: NO_USAGE,
  declaredTools: undefined,
  interrupted: [],
  partialReply: false,
  openIn: undefined,
  ...more,
})

test("a new conversation has no warnings; a resumed one names interrupted calls and the other process", () => {
  expect(openingWarnings(undefined)).toEqual([])
  expect(openingWarnings(resumed())).toEqual([])
  expect(openingWarnings(resumed({ interrupted: ["terminal", "patch"], openIn: 42 }))).toEqual([
    expect.stringContaining("stopped during a tool call (terminal, patch)"),
    expect.stringContaining("also open in process 42"),
  ])
})

const at = (cwd: string, more: Partial<CurrentWorkspace> = {}): CurrentWorkspace => ({
  note: undefined,
  kind: "local",
  facts: { os: "Linux", release: "6", user: "ann", home: "/home/ann", cwd },
  ...more,
})

const after = (note: string | undefined): ResumedSession =>
  resumed({ history: [{ role: "user", content: "hi", injected: note ?? "" }] })

test("a resumed session is sent its directory only when the prompt or the last note names another one", () => {
  expect(changedWorkspaceNote(at("/b"), undefined)).toBeUndefined()
  expect(changedWorkspaceNote(at("/a"), resumed())).toBeUndefined()
  const moved = changedWorkspaceNote(at("/b"), resumed())
  expect(moved).toContain("Current working directory: /b")
  expect(changedWorkspaceNote(at("/b"), after(moved))).toBeUndefined()
  // The prompt still names /a, but the last note counts.
  expect(changedWorkspaceNote(at("/a"), after(moved))).toContain("Current working directory: /a")
  // The beginning of a path is another directory.
  expect(changedWorkspaceNote(at("/"), resumed())).toContain("Current working directory: /")
})

test("a prompt without a directory is as good as the directory that is stored with the session", () => {
  const bare = (cwd: string | null) => resumed({ system: "You are Hermes.", cwd })
  expect(changedWorkspaceNote(at("/a"), bare(null))).toBeUndefined()
  expect(changedWorkspaceNote(at("/a"), bare("/a"))).toBeUndefined()
  expect(changedWorkspaceNote(at("/b"), bare("/a"))).toContain("Current working directory: /b")
})

test("a worktree note is sent only if its first line is new", () => {
  const note = "You work in a worktree: /a.\nMore about it."
  const sent = changedWorkspaceNote(at("/a", { note }), resumed())
  expect(sent).toContain(note)
  expect(changedWorkspaceNote(at("/a", { note }), after(sent))).toBeUndefined()
})

test("a conversation that moves to a container and back is sent both changes", () => {
  const inside = changedWorkspaceNote(at("/a", { kind: "docker" }), resumed())
  expect(inside).toContain("File and terminal tools work in a Docker container")
  expect(changedWorkspaceNote(at("/a", { kind: "docker" }), after(inside))).toBeUndefined()
  const back = changedWorkspaceNote(at("/a"), after(inside))
  expect(back).toContain("File and terminal tools work on the machine Hermes runs on.")
  expect(changedWorkspaceNote(at("/a"), after(back))).toBeUndefined()
})

test("a reply that was cut off by a kill is reported", () => {
  expect(openingWarnings(resumed({ partialReply: true }))).toEqual([
    "Hermes was stopped during a reply. What had arrived of it is part of the conversation.",
  ])
})
