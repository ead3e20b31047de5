import { delegatingModel } from "../../test/integration/delegation/delegating-model.ts"
import { callsTool, reply, says, waitsFor } from "../../test/support/model-server/turn.ts"
import { ANSWER, CHECK_COMMAND, FIX, GARDEN, PLAN } from "./garden-project.ts"
import { DARK, LIGHT } from "./palette.ts"
import { SHELL_PROMPT } from "./stage.ts"
import type { Stage, StageOptions } from "./stage.ts"

export interface Picture extends Pick<StageOptions, "script" | "settings" | "env"> {
  readonly name: string
  /** What the picture shows, for screen readers. */
  readonly title: string
  readonly columns?: number
  readonly rows?: number
  readonly palette?: StageOptions["palette"]
  readonly startsInShell?: boolean
  /** Brings the screen to the state that the picture shows. */
  readonly play: (stage: Stage) => Promise<void>
}

/** The editor is empty, and nothing runs. */
export const IDLE = /^❯ ?$/mu

export const NO_SANDBOX = "terminal:\n  sandbox: off\n"

export const PICTURES: readonly Picture[] = [
  {
    name: "demo",
    title: "A first conversation with the demo model: it lists files, writes a note and saves a fact",
    rows: 60,
    startsInShell: true,
    play: async (stage) => {
      await stage.waitFor(SHELL_PROMPT)
      await send(stage, "hermes", "Use the demo")
      await send(stage, "", "What shall we work on?")
      await send(stage, "list the files here", /I found 7 files[^]*^❯ ?$/mu)
      await send(stage, "write a note called friday.md saying water the tomatoes", /I wrote 19 bytes[^]*^❯ ?$/mu)
      await send(stage, "remember that I grow tomatoes", /a new session will see it[^]*^❯ ?$/mu)
    },
  },
  {
    name: "reply",
    title: "A reply with bold text, highlighted Python code, a table and a list",
    rows: 40,
    script: [says(ANSWER)],
    play: async (stage) => {
      await send(stage, "why does total fail?", /skip such rows[^]*^❯ ?$/mu)
    },
  },
  {
    name: "tools",
    title: "Tool lines with durations, the output of a failed command and a diff with the changed words",
    ...fixing(),
  },
  { name: "light", title: "The same on a terminal with a light background", ...fixing(), palette: LIGHT },
  { name: "narrow", title: "The same with 60 columns", ...fixing(), columns: 60 },
  {
    name: "approval",
    title: "A question for approval with the command, what it runs, the reason and the rule that would be saved",
    script: [
      says("I will remove the old pages, then publish the branch.", {
        calls: [{ name: "terminal", input: { command: "rm -r build && git push --force origin main" } }],
      }),
    ],
    settings: NO_SANDBOX,
    play: async (stage) => {
      await send(stage, "clean up and publish", "Esc denies")
    },
  },
  {
    name: "plan",
    title: "A finished plan with the choices to approve, revise or abort it",
    script: [says(PLAN)],
    rows: 34,
    play: async (stage) => {
      await send(stage, "/plan use the weather", "The plan is ready")
    },
  },
  {
    name: "models",
    title: "The list of providers that /model opens",
    env: { ANTHROPIC_API_KEY: "example", OPENROUTER_API_KEY: "example", GEMINI_API_KEY: "example" },
    script: [],
    play: async (stage) => {
      await send(stage, "/model", /Esc leaves/u)
      await stage.waitFor("Anthropic")
    },
  },
  {
    name: "rollback",
    title: "The list of snapshots that /rollback opens, with the difference to the files below it",
    rows: 36,
    settings: NO_SANDBOX,
    script: [
      callsTool("patch", FIX),
      says("Fixed."),
      callsTool("write_file", { path: "notes/summer.md", content: "Water before nine.\nSquash: twice a week.\n" }),
      says("Noted."),
    ],
    play: async (stage) => {
      await send(stage, "fix total", /Fixed\.[^]*^❯ ?$/mu)
      await send(stage, "note that squash needs water twice a week", /Noted\.[^]*^❯ ?$/mu)
      await send(stage, "/rollback", /Snapshots of[^]*Squash: twice/u)
    },
  },
  {
    name: "commands",
    title: "Slash commands that match what was typed, each with its description",
    script: [],
    play: async (stage) => {
      stage.type("/re")
      await stage.waitFor("/resume")
      await stage.pause(300)
    },
  },
  {
    name: "references",
    title: "Files that match what was typed after the at sign",
    script: [],
    play: async (stage) => {
      stage.type("compare @no")
      await stage.waitFor("notes/summer.md")
      await stage.pause(300)
    },
  },
  {
    name: "agents",
    title: "A running turn with a task list, two sub-agents, a queued message and the status bar",
    settings: `${NO_SANDBOX}display:\n  busy_input_mode: queue\n`,
    script: delegating(),
    play: async (stage) => {
      await send(stage, "plan the watering for July", "compare the beds")
      await stage.waitFor(/list the plants/u)
      await send(stage, "and for August", "1 queued")
      await stage.pause(3200)
    },
  },
]

/** Runs a check that fails, fixes the file, and checks again. */
function fixing(): Pick<Picture, "script" | "settings" | "rows" | "play"> {
  return {
    rows: 44,
    settings: NO_SANDBOX,
    script: [
      callsTool("search_files", { pattern: "litres", target: "content", path: "." }),
      callsTool("terminal", { command: CHECK_COMMAND }),
      callsTool("patch", FIX),
      callsTool("terminal", { command: CHECK_COMMAND }),
      says("`total` works now: the beds need **27 litres** a day."),
    ],
    play: async (stage) => {
      await send(stage, "total fails, fix it", /27 litres[^]*^❯ ?$/mu)
    },
  }
}

function delegating(): NonNullable<Picture["script"]> {
  const never = waitsFor(new Promise(() => undefined))
  return delegatingModel({
    "": [
      callsTool("todo", {
        todos: [
          { id: "1", content: "Read the beds", status: "completed" },
          { id: "2", content: "Compare with the notes", status: "in_progress" },
          { id: "3", content: "Write july.md", status: "pending" },
        ],
      }),
      callsTool("delegate_task", { tasks: [{ goal: "compare the beds" }, { goal: "list the plants" }] }),
    ],
    "compare the beds": [callsTool("read_file", { path: "beds.csv" }), reply({ text: "" }, never)],
    "list the plants": [
      callsTool("search_files", { pattern: "*", target: "files", path: "notes" }),
      callsTool("read_file", { path: "notes/spring.md" }),
      reply({ text: "" }, never),
    ],
  }).script
}

async function send(stage: Stage, text: string, until: RegExp | string): Promise<void> {
  stage.type(text)
  stage.press("enter")
  await stage.waitFor(until)
}

export const DEFAULT_SIZE = { columns: 100, rows: 30, palette: DARK, files: GARDEN } as const
