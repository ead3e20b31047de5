import { createHash } from "node:crypto"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { systemClock } from "../../base/clock.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import { openSqliteStore } from "../../state/sqlite/open-store.ts"
import type { SessionStore } from "../../state/store.ts"
import { createCliHome, type CliHome } from "../../../test/support/cli-home.ts"
import {
  CLAUDE_SESSION,
  claudeReply,
  claudeUser,
  CODEX_SESSION,
  codexItem,
  jsonLines,
  OPENCLAW_SESSION,
  writeClaudeCodeHome,
  writeCodexHome,
  writeFiles,
  writeOpenclawHome,
} from "../../../test/fixtures/import-home/foreign-homes.ts"

const IMPORT = ["-y"] as const

async function withStore<T>(home: CliHome, work: (store: SessionStore) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({
    path: home.home.file("state.db"),
    clock: systemClock,
    log: { debug: () => undefined, warning: () => undefined },
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Every file with its mode and content. */
function fingerprints(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((name) => {
      const path = join(directory, name)
      const stats = statSync(path)
      const content = stats.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "directory"
      return `${name} ${stats.mode} ${stats.mtimeMs} ${content}`
    })
}

describe("conversations", () => {
  test("of Claude Code become sessions: one branch, one message per reply, results, sub-agents, titles", async () => {
    using home = createCliHome()
    writeClaudeCodeHome(home.directory)
    const { code, out } = await home.run(["import", "claude-code", "--only", "sessions", ...IMPORT])
    expect(code).toBe(0)
    expect(out).toContain("sessions: 3 imported")
    expect(out).toContain("Skipped: 1 damaged line.")
    expect(out).toContain("Skipped: 1 line of sub-agents inside conversations.")
    expect(out).toContain("Skipped: 2 messages that you had gone back from.")
    expect(out).not.toContain("\u001b")
    const id = toSessionId(`claude-code_${CLAUDE_SESSION}`)
    await withStore(home, async (store) => {
      const row = await store.session(id)
      expect(row).toMatchObject({
        source: "claude-code",
        title: "Checkout timeout",
        cwd: "/home/ada/shop",
        model: "claude-sonnet-4-5-20250929",
        messageCount: 7,
        toolCallCount: 2,
        startedAt: Date.parse("2026-02-03T10:00:00Z") / 1000,
        endedAt: null,
      })
      const messages = (await store.messages(id)).map(({ role, text, toolName }) => [role, text, toolName])
      expect(messages).toEqual([
        ["user", "Why does the zebrafish checkout fail?", null],
        ["assistant", "I look at the log.", null],
        ["tool", "timeout after 30 s, OPENAI_API_KEY=sk-pla...nted", "Bash"],
        ["tool", "const limit = 30\n\n[An image that was not imported.]", "Read"],
        ["assistant", "The limit is too low.", null],
        ["user", "Raise it to 60.", null],
        ["assistant", "Raised to 60.", null],
      ])
      const [question, reply, result] = await store.conversation(id)
      // Text of another program must not count as the user's own words.
      expect(question).toMatchObject({ role: "user", provenance: "file" })
      expect(reply).toMatchObject({
        reasoning: "Look at the log.",
        tool_calls: [
          { id: "toolu_1", function: { name: "Bash", arguments: '{"command":"cat log"}' } },
          { id: "toolu_2", function: { name: "Read" } },
        ],
      })
      expect(result).toMatchObject({ role: "tool", provenance: "command", tool_call_id: "toolu_1" })
      const titles = (await store.list({ source: "claude-code" })).map(({ title }) => title ?? "")
      expect(titles.toSorted()).toEqual(["Broken parser repaired", "Checkout timeout"])
      const child = await store.session(toSessionId(`claude-code_${CLAUDE_SESSION}-agent-a748733`))
      expect(child).toMatchObject({ parent: id, source: "subagent", messageCount: 2 })
      expect((await store.search("zebrafish")).map((hit) => hit.sessionId)).toEqual([id])
    })
    expect((await home.run(["sessions", "search", "zebrafish"])).out).toContain(`claude-code_${CLAUDE_SESSION}`)
  })

  test("of Codex: calls of every kind, old rollouts, a sub-agent before its parent", async () => {
    using home = createCliHome()
    writeCodexHome(home.directory)
    const { out } = await home.run(["import", "codex", "--only", "sessions", ...IMPORT])
    expect(out).toContain("sessions: 3 imported")
    expect(out).toContain("Skipped: 1 line with a summary, or with a result without its call.")
    await withStore(home, async (store) => {
      const id = toSessionId(`codex_${CODEX_SESSION}`)
      expect(await store.session(id)).toMatchObject({
        title: "Arithmetic with Codex",
        model: "gpt-5-codex",
        cwd: "/home/ada/api",
      })
      expect((await store.messages(id)).map(({ role, text }) => [role, text])).toEqual([
        ["user", "Which quokka files are there?"],
        ["assistant", ""],
        ["tool", "quokka.txt\n"],
        ["tool", "Success"],
        ["assistant", "One file: quokka.txt."],
      ])
      const old = await store.list({ source: "codex", orderBy: "started" })
      expect(old.at(-1)).toMatchObject({ title: "Say hello", messageCount: 2 })
      expect(await store.session(toSessionId("codex_019a2d7b-0000-7000-8000-a45d62a89cd5"))).toMatchObject({
        parent: id,
      })
    })
  })

  test("of OpenClaw, with the titles of its index", async () => {
    using home = createCliHome()
    writeOpenclawHome(home.directory)
    const { out } = await home.run(["import", "openclaw", "--only", "sessions", ...IMPORT])
    expect(out).toContain("sessions: 2 imported")
    await withStore(home, async (store) => {
      const id = toSessionId(`openclaw_${OPENCLAW_SESSION}`)
      expect(await store.session(id)).toMatchObject({ title: "Tides", model: "claude-opus-4-5", source: "openclaw" })
      expect((await store.messages(id)).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"])
    })
  })

  test("of older versions: a plain list, another workspace, a transcript that starts with a summary", async () => {
    using home = createCliHome()
    const message = (role: string, text: string): unknown => ({ type: "message", message: { role, content: text } })
    const summary = { ...claudeUser("s01", null, "Earlier: the parser was repaired."), isCompactSummary: true }
    writeFiles(home.directory, {
      ".clawdbot/clawdbot.json": { agent: { workspace: "~/clawd", model: "anthropic/claude-opus-4-1" } },
      "clawd/AGENTS.md": "- Water the plants on Mondays.\n",
      ".clawdbot/sessions/old.jsonl": [
        { type: "session", id: "old", timestamp: "2025-12-01T08:00:00.000Z", cwd: "/home/ada/clawd" },
        message("user", "Hello"),
        message("assistant", "Hi."),
        { type: "compaction", summary: "They said hello." },
        message("user", "Bye"),
      ],
      ".claude/projects/p/short.jsonl": [
        summary,
        claudeUser("u02", "s01", "Go on"),
        { ...summary, uuid: "s03", parentUuid: "u02" },
      ],
    })
    await home.run(["import", "openclaw", "--only", "sessions,rules", ...IMPORT])
    await home.run(["import", "claude-code", "--only", "sessions", ...IMPORT])
    expect(readFileSync(home.home.file("memories/MEMORY.md"), "utf8")).toBe("Water the plants on Mondays.")
    await withStore(home, async (store) => {
      const texts = async (id: string): Promise<readonly string[]> =>
        (await store.messages(toSessionId(id))).map(({ text }) => text)
      expect(await texts("openclaw_old")).toEqual(["Hello", "Hi.", "Bye"])
      expect(await texts("claude-code_short")).toEqual(["Earlier: the parser was repaired.", "Go on"])
    })
  })

  test("are imported once; later messages are added, and a session that was continued in Hermes stays", async () => {
    using home = createCliHome()
    writeClaudeCodeHome(home.directory)
    const line = ["import", "claude-code", "--only", "sessions", ...IMPORT]
    await home.run(line)
    const again = await home.run(line)
    expect(again.out).toContain("sessions: 3 already there\n")
    const file = join(home.directory, ".claude/projects/-home-ada-shop", `${CLAUDE_SESSION}.jsonl`)
    const more = [
      claudeUser("u14", "a13", "Thanks"),
      claudeReply("a15", "u14", "msg_5", { type: "text", text: "Welcome." }),
    ]
    // The last line is being written.
    appendFileSync(file, `${jsonLines(more)}{"type":"user","uuid":"u16","mess`)
    const grown = await home.run(line)
    expect(grown.out).toContain("sessions: 1 updated, 2 already there\n")
    expect(grown.out).toContain("Skipped: 1 damaged line.")
    const id = toSessionId(`claude-code_${CLAUDE_SESSION}`)
    await withStore(home, async (store) => {
      expect((await store.messages(id)).slice(-2).map(({ text }) => text)).toEqual(["Thanks", "Welcome."])
      await store.append(id, [{ role: "user", content: "typed in Hermes" }])
    })
    appendFileSync(file, jsonLines(["", claudeUser("u17", "a15", "More")]))
    const continued = JSON.parse((await home.run([...line, "--json"])).out)
    expect(continued.categories[0].items).toContainEqual(
      expect.objectContaining({ outcome: "already-there", detail: expect.stringContaining("continued in Hermes") }),
    )
  })

  test("with hostile names, links out of the home, huge lines and strange values do no harm", async () => {
    using home = createCliHome()
    const outside = join(home.directory, "outside")
    writeFiles(outside, { "secret.jsonl": [claudeUser("x01", null, "outside text")] })
    writeFiles(home.directory, {
      ".claude/settings.json": "{}",
      ".claude/projects/p/we\u001b[31mird.jsonl": [
        { ...claudeUser("w01", null, "Line one\u0000\u001b[2J"), cwd: "../../etc\u0007", timestamp: "not a time" },
        "[1,2,3]",
        "x".repeat(33 * 1024 * 1024),
        {
          ...claudeReply("w02", "missing-parent", "m", {
            type: "tool_use",
            id: "t\u001b{}",
            name: "../evil tool",
            input: "text",
          }),
          timestamp: 9e99,
        },
      ],
      ".claude/projects/p/empty.jsonl": "",
      ".claude/projects/p/deep.jsonl": [
        claudeUser("d01", null, "Deep"),
        `{"type":"assistant","uuid":"d02","message":{"role":"assistant","content":[{"type":"tool_use","id":"x","name":"y","input":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}]}}`,
      ],
    })
    symlinkSync(join(outside, "secret.jsonl"), join(home.directory, ".claude/projects/p/link.jsonl"))
    symlinkSync(outside, join(home.directory, ".claude/projects/linked"))
    mkdirSync(join(home.directory, ".claude/projects/p/folder.jsonl"))
    const { code, out, err } = await home.run(["import", "claude-code", "--only", "sessions", ...IMPORT])
    expect(code).toBe(0)
    expect(out).toContain("sessions: 2 imported, 1 skipped")
    expect(out).toContain("Skipped: 3 damaged lines.")
    expect(err).toContain("Not read: projects/p/link.jsonl: it is a link that leads out of the directory")
    expect(out + err).not.toContain("\u001b")
    await withStore(home, async (store) => {
      const session = (await store.list({ source: "claude-code" })).find(({ title }) => title !== "Deep")
      expect(session).toMatchObject({ title: "Line one", cwd: null, messageCount: 2 })
      expect(session?.id).toMatch(/^claude-code_[0-9a-f]{32}$/u)
      const [, reply] = await store.conversation(session?.id ?? toSessionId("none"))
      expect(reply).toMatchObject({
        tool_calls: [
          {
            id: expect.stringMatching(/^call_[0-9a-f]{24}$/u),
            function: { name: "___evil_tool", arguments: '{"input":"text"}' },
          },
        ],
      })
      expect(await store.search("outside text")).toEqual([])
    })
  })

  test("an interrupted import says so and is continued by the next one", async () => {
    using home = createCliHome()
    writeCodexHome(home.directory)
    const stop = AbortSignal.abort()
    const stopped = await home.run(["import", "codex", "--only", "sessions", ...IMPORT], { signal: stop })
    expect(stopped.code).toBe(1)
    expect(stopped.err).toContain("run it again to import the rest")
    const file = join(
      home.directory,
      ".codex/sessions/2025/10/29",
      `rollout-2025-10-29T00-59-38-${CODEX_SESSION}.jsonl`,
    )
    const whole = readFileSync(file, "utf8")
    writeFileSync(file, whole.split("\n").slice(0, 8).join("\n"))
    await home.run(["import", "codex", "--only", "sessions", ...IMPORT])
    writeFileSync(
      file,
      whole +
        jsonLines([
          codexItem(11, { type: "message", role: "assistant", content: [{ type: "output_text", text: "Done." }] }),
        ]),
    )
    expect((await home.run(["import", "codex", "--only", "sessions", ...IMPORT])).out).toContain(
      "1 updated, 2 already there",
    )
    await withStore(home, async (store) => {
      const texts = (await store.messages(toSessionId(`codex_${CODEX_SESSION}`))).map(
        ({ role, text }) => `${role}: ${text.trim()}`,
      )
      expect(texts).toEqual([
        "user: Which quokka files are there?",
        "assistant: ",
        "assistant: ",
        "tool: quokka.txt",
        "tool: Success",
        "assistant: One file: quokka.txt.\n\nDone.",
      ])
    })
  })
})

test("a dry run writes nothing, and the import then does what it said", async () => {
  for (const [agent, write] of [
    ["claude-code", writeClaudeCodeHome],
    ["codex", writeCodexHome],
    ["openclaw", writeOpenclawHome],
  ] as const) {
    using home = createCliHome()
    write(home.directory)
    // An earlier session, so that there is a database to look at.
    await withStore(
      home,
      async (store) => await store.createSession({ id: toSessionId("mine"), source: "cli", startedAt: 1 }),
    )
    const before = fingerprints(home.directory)
    const planned = JSON.parse((await home.run(["import", agent, "--dry-run", "--json", "--include-secrets"])).out)
    expect(fingerprints(home.directory)).toEqual(before)
    const foreign = (): readonly string[] => fingerprints(home.directory).filter((line) => !line.startsWith(".hermes"))
    const untouched = foreign()
    const done = JSON.parse((await home.run(["import", agent, "--json", "-y"])).out)
    expect({ ...done, dryRun: true }).toEqual(planned)
    expect(foreign()).toEqual(untouched)
    const again = JSON.parse((await home.run(["import", agent, "--json", "-y"])).out)
    const outcomes = again.categories.flatMap(({ items }: { items: { outcome: string }[] }) =>
      items.map(({ outcome }) => outcome),
    )
    expect(outcomes).not.toContain("imported")
    expect(outcomes).not.toContain("updated")
  }
})

test("rules and memories: within the limits, without duplicates, attacks and keys", async () => {
  using home = createCliHome()
  writeClaudeCodeHome(home.directory)
  mkdirSync(home.home.file("memories"))
  writeFileSync(home.home.file("memories", "MEMORY.md"), "Use tabs in all Makefiles.")
  const { out } = await home.run(["import", "claude-code", "--only", "memories,rules", ...IMPORT])
  expect(out).toContain("rules: 3 imported, 1 already there, 1 skipped")
  expect(out).toMatch(/skipped: .*\(CLAUDE\.md:8 looks like /u)
  const memory = readFileSync(home.home.file("memories", "MEMORY.md"), "utf8")
  expect(memory).toBe(
    [
      "Use tabs in all Makefiles.",
      "Always answer in British English.",
      "Testing: Run `npm test` before each commit.",
      "Testing: The staging key is sk-ant...nted.",
    ].join("\n§\n"),
  )
  // What belongs to one project is kept, but not in every prompt.
  expect(readFileSync(home.home.file("imported/claude-code/memories.md"), "utf8")).toContain(
    "The shop database is in eu-west-1.",
  )
  expect(out).toContain("imported/claude-code/memories.md, which the model does not see")
})

test("rules without room go to a file that is named", async () => {
  using home = createCliHome()
  const rules = Array.from(
    { length: 40 },
    (_, index) => `- Rule ${index}: ${"keep module number ".repeat(3)}${index} tidy${"x".repeat(index)}.`,
  )
  writeFiles(home.directory, { ".codex/AGENTS.md": `${rules.join("\n")}\n` })
  const { out } = await home.run(["import", "codex", "--only", "rules", ...IMPORT])
  expect(out).toMatch(/Not part of the memory: \d+ notes in ~\/\.hermes\/imported\/codex\/rules\.md/u)
  const stored = readFileSync(home.home.file("memories", "MEMORY.md"), "utf8")
  expect(stored.length).toBeLessThan(2200)
  const rest = readFileSync(home.home.file("imported/codex/rules.md"), "utf8")
  expect(`${stored}\n${rest}`.match(/Rule \d+:/gu)).toHaveLength(40)
})

test("where every write to the memory needs approval, imported notes wait for it", async () => {
  using home = createCliHome()
  writeFiles(home.directory, { ".codex/AGENTS.md": "- Prefer small commits.\n" })
  writeFileSync(home.home.file("config.yaml"), "memory:\n  write_approval: true\n")
  const line = ["import", "codex", "--only", "rules", ...IMPORT]
  expect((await home.run(line)).out).toContain("for you to decide: Prefer small commits. (waits for your approval")
  expect(existsSync(home.home.file("memories/MEMORY.md"))).toBe(false)
  expect((await home.run(line)).out).toContain("rules: 1 already there")
})

test("SOUL.md and USER.md: only where they are untouched, else the difference is shown", async () => {
  using fresh = createCliHome()
  writeOpenclawHome(fresh.directory)
  await fresh.run(["import", "openclaw", "--only", "memories", ...IMPORT])
  expect(readFileSync(fresh.home.file("SOUL.md"), "utf8")).toContain("You are Lobster")
  expect(readFileSync(fresh.home.file("memories", "USER.md"), "utf8")).toBe("**Name:** Ada\n§\nPrefers short answers.")
  using used = createCliHome()
  writeOpenclawHome(used.directory)
  mkdirSync(used.home.file("memories"))
  writeFileSync(used.home.file("SOUL.md"), "You are Hal.\n")
  writeFileSync(used.home.file("memories", "USER.md"), "Lives in Oslo.")
  const { out } = await used.run(["import", "openclaw", "--only", "memories", ...IMPORT])
  expect(readFileSync(used.home.file("SOUL.md"), "utf8")).toBe("You are Hal.\n")
  expect(readFileSync(used.home.file("memories", "USER.md"), "utf8")).toBe("Lives in Oslo.")
  expect(out).toContain("+ You are Lobster, calm and exact.")
  expect(out).toContain(
    "for you to decide: Prefers short answers. (only in its workspace/USER.md; yours has other entries)",
  )
})

test("skills pass the guard, prompt commands become files, and attacks are reported with their line", async () => {
  using home = createCliHome()
  writeClaudeCodeHome(home.directory)
  writeFiles(home.directory, { ".claude/commands/a b;c.md": "x\n" })
  const { out } = await home.run(["import", "claude-code", "--only", "skills,commands", ...IMPORT])
  expect(out).toContain("skills: 1 imported, 1 skipped")
  expect(existsSync(home.home.file("skills/changelog/SKILL.md"))).toBe(true)
  expect(existsSync(home.home.file("skills/bad"))).toBe(false)
  expect(out).toMatch(/skipped: bad \(the scan says dangerous:\)\n {4}SKILL\.md:6: /u)
  expect(out).toContain("commands: 2 imported, 2 skipped")
  // A model that was chosen for another agent is not chosen here.
  expect(readFileSync(home.home.file("commands/review.md"), "utf8")).toBe(
    "---\ndescription: Review a change\nargument-hint: FILE\n---\nReview $ARGUMENTS for mistakes.\n",
  )
  expect(existsSync(home.home.file("commands/team/standup.md"))).toBe(true)
  expect(readdirSync(home.home.file("commands")).toSorted()).toEqual(["review.md", "team"])
  expect(out).toMatch(/skipped: \/evil \(the scan says dangerous:\)\n {4}commands\/evil\.md:\d+: /u)
  expect(out).toContain("Not imported: the definitions of sub-agents in agents/ (1).")
})

test("MCP servers are disabled, and keys are named and only copied with --include-secrets", async () => {
  using home = createCliHome()
  writeClaudeCodeHome(home.directory)
  const line = ["import", "claude-code", "--only", "mcp,settings"]
  const { out } = await home.run([...line, ...IMPORT])
  expect(out).toContain("mcp: 2 imported, 1 skipped")
  expect(out).toContain("imported: github (disabled, npx -y gh-mcp; set MCP_GITHUB_GITHUB_TOKEN in .env)")
  expect(out).toContain("skipped: leaky (its command or address contains a key")
  expect(out).toContain("for you to decide: model opus (choose it with `hermes model` (provider anthropic))")
  expect(out).toContain("Keys that Claude Code has: MCP_GITHUB_GITHUB_TOKEN, ANTHROPIC_API_KEY.")
  const config = readFileSync(home.home.file("config.yaml"), "utf8")
  expect(config).toMatch(/github:[^]*enabled: false/u)
  expect(config).not.toContain("planted")
  expect(existsSync(home.home.file(".env"))).toBe(false)

  using other = createCliHome()
  writeClaudeCodeHome(other.directory)
  const declined = await other.run([...line, "--include-secrets"], { answers: ["y", "n"] })
  expect(declined.err).toContain(
    "Copy these keys from Claude Code to .env: MCP_GITHUB_GITHUB_TOKEN, ANTHROPIC_API_KEY?",
  )
  expect(existsSync(other.home.file(".env"))).toBe(false)
  const copied = await other.run([...line, "--include-secrets", "-y"])
  expect(copied.out).toContain("Copied to .env: MCP_GITHUB_GITHUB_TOKEN, ANTHROPIC_API_KEY.")
  const variables = readFileSync(other.home.file(".env"), "utf8")
  expect(variables).toContain("ANTHROPIC_API_KEY=sk-ant-api03-planted-key-planted-key")
  // The server is there since the import without its key.
  expect(variables).toContain("MCP_GITHUB_GITHUB_TOKEN=ghp_plantedplantedplantedplanted1234")
  expect((await other.run([...line, ...IMPORT])).out).not.toContain("Keys that Claude Code has")
})

test("MCP servers with strange names or passwords are skipped one by one", async () => {
  using home = createCliHome()
  const servers = `{"__proto__":{"command":"x"},"a b":{"command":"x"},"u":{"url":"https://u:pw123456@h.example/mcp"},"good":{"command":"g"}}`
  writeFiles(home.directory, { ".claude/settings.json": "{}", ".claude.json": `{"mcpServers":${servers}}` })
  const { out } = await home.run(["import", "claude-code", "--only", "mcp", ...IMPORT])
  expect(out).toContain("mcp: 1 imported, 3 skipped")
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toContain(
    "mcp_servers:\n  good:\n    command: g\n    enabled: false\n",
  )
})

test("settings of Codex and OpenClaw are proposed as commands; logins stay where they are", async () => {
  using home = createCliHome()
  writeCodexHome(home.directory)
  writeOpenclawHome(home.directory)
  const codex = (await home.run(["import", "codex", "--only", "settings", "--dry-run"])).out
  expect(codex).toContain("to use it: `hermes config set model.default 'gpt-5-codex'`")
  expect(codex).toContain("The login of Codex (auth.json) belongs to that program and is not copied.")
  expect(codex).toContain("Keys that Codex has: OPENAI_API_KEY.")
  expect(codex).not.toContain("planted")
  const openclaw = (await home.run(["import", "openclaw", "--only", "settings,mcp", "--dry-run"])).out
  expect(openclaw).toContain(
    "`hermes config set model.default 'claude-opus-4-5'` and `hermes config set model.provider 'anthropic'`",
  )
  expect(openclaw).toContain("to import: files (disabled, files-mcp)")
  expect(openclaw).toContain("OPENROUTER_API_KEY")
})

test("mistakes are explained", async () => {
  using home = createCliHome()
  const missing = await home.run(["import", "codex"])
  expect(missing).toMatchObject({ code: 1, err: expect.stringContaining("There is no home of Codex in ~/.codex.") })
  writeCodexHome(home.directory)
  expect(await home.run(["import", "codex", "--only", "sesions"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("did you mean sessions?"),
  })
  expect(await home.run(["import", "codex"])).toMatchObject({ code: 1, err: expect.stringContaining("Use -y") })
  expect(existsSync(home.home.file("state.db"))).toBe(false)
  for (const [name, agent] of [
    ["claude", "claude-code"],
    ["codxe", "codex"],
  ] as const)
    expect(await home.run(["import", name, "--dry-run"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(new RegExp(`there is no file .*/${name}; did you mean ${agent}\\?`, "u")),
    })
  expect(await home.run(["import", "backup.zip", "--dry-run"])).toMatchObject({
    code: 2,
    err: expect.stringContaining("--dry-run is for the home of another agent"),
  })
  expect(await home.run(["claw", "migrate"])).toMatchObject({
    code: 1,
    err: expect.stringContaining("hermes import openclaw"),
  })
  const declined = await home.run(["import", "codex"], { answers: ["n"] })
  expect(declined.err).toContain("Nothing was changed.")
  expect(existsSync(home.home.file("state.db"))).toBe(false)
})
