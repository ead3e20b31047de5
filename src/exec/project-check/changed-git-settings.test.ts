import { expect, test } from "vitest"

import { changedSettings } from "./changed-git-settings.ts"

const BEFORE = `# Mine.
[user]
\tname = Ada
[remote "origin"]
\turl = https://git.example/a.git
\tfetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"]
\tremote = origin
\tmerge = refs/heads/main
[alias]
\tst = status
`

test("only settings that decide about programs and servers are restored", () => {
  const now = `${BEFORE.replace("Ada", "Bob")}[remote "origin"] pushurl = https://evil.example/x ; comment\n[core]\n\tabbrev = 9\n`
  expect(changedSettings(BEFORE, now, {})).toEqual({
    keys: ["remote.origin.pushurl"],
    areAddresses: true,
    restored: `${BEFORE.replace("Ada", "Bob")}[remote "origin"] \n[core]\n\tabbrev = 9\n`,
  })
  const changed = BEFORE.replace("git.example/a.git", "evil.example/a.git").replace("st = status", "st = !evil")
  // Nothing else has changed, so the text is the earlier one, with its comments.
  expect(changedSettings(BEFORE, changed, {})).toEqual({
    keys: ["remote.origin.url", "alias.st"],
    areAddresses: false,
    restored: BEFORE,
  })
  expect(changedSettings(BEFORE, changed.replace("Ada", "Bob"), {})?.restored).toContain("Bob")
})

test("settings that are gone come back, and a text that git refuses is replaced", () => {
  const gone = BEFORE.replace("[alias]\n\tst = status\n", "").replace("Ada", "Bob")
  expect(changedSettings(BEFORE, gone, {})?.restored).toBe(`${gone}[alias]\n\tst = "status"\n`)
  expect(changedSettings(BEFORE, `${BEFORE}[broken\n`, {})?.restored).toBe(BEFORE)
  expect(changedSettings(BEFORE, `${BEFORE}[include]\npath = x\n[user]\nname = Bob\n`, {})?.restored).toBe(BEFORE)
})

test.each([
  ["git remote set-url origin https://git.example/b.git", "git.example/a.git", "git.example/b.git"],
  ["git push -u upstream main", "\tremote = origin", "\tremote = upstream"],
  ["git config branch.main.remote other", "\tremote = origin", "\tremote = other"],
  ["git remote rename origin upstream", "origin", "upstream"],
])("what git writes for `%s` stays, and what else changes meanwhile does not", (line, from, to) => {
  const now = BEFORE.replaceAll(from, to)
  expect(changedSettings(BEFORE, now, { gitLines: [line] })).toBeUndefined()
  expect(changedSettings(BEFORE, now, {})).toBeDefined()
  const evil = `${now}[remote "origin"]\n\tpushurl = https://evil.example/x\n[branch "main"]\n\tpushRemote = https://evil.example/y\n`
  expect(changedSettings(BEFORE, evil, { gitLines: [line] })?.keys).toEqual([
    "remote.origin.pushurl",
    "branch.main.pushremote",
  ])
})

test("a branch may get one of the known remotes as its upstream, or lose it, also in another terminal", () => {
  const topic = (name: string, remote: string): string => `${BEFORE}[branch "topic"]\n\t${name} = ${remote}\n`
  expect(changedSettings(BEFORE, topic("remote", "origin"), {})).toBeUndefined()
  expect(changedSettings(BEFORE, topic("remote", "."), {})).toBeUndefined()
  expect(changedSettings(BEFORE, BEFORE.replace("\tremote = origin\n", ""), {})).toBeUndefined()
  expect(changedSettings(BEFORE, topic("remote", "https://evil.example/x"), {})?.restored).toBe(BEFORE)
  expect(changedSettings(BEFORE, topic("pushRemote", "origin"), {})?.keys).toEqual(["branch.topic.pushremote"])
  expect(changedSettings(`${BEFORE}[remote "b"]\nurl = x\n`, BEFORE.replace("= origin", "= b"), {})?.keys).toEqual([
    "branch.main.remote",
    "remote.b.url",
  ])
})
