import type { Command, Flag, Positional } from "../command.ts"
import { choice, decimal, integer, json, text, toggle } from "./flag.ts"

const job: Positional = { name: "ID", summary: "job id or name", required: true }
const task: Positional = { name: "ID", summary: "task id", required: true }

const jobFlags: readonly Flag[] = [
  text("name", "name of the job", { value: "NAME" }),
  text("deliver", "where the result goes", { value: "TARGET" }),
  integer("repeat", "run this many times", { value: "N", min: 1 }),
  text("skill", "load this skill", { value: "NAME", repeatable: true, complete: "skill" }),
  text("script", "run this script first", { value: "FILE", complete: "file" }),
  toggle("no-agent", "only the script, no model"),
  text("workdir", "work in this directory", { value: "DIR", complete: "directory" }),
]

const cronCommands: readonly Command[] = [
  {
    name: "list",
    summary: "list jobs",
    group: "automate",
    flags: [toggle("all", "also paused and finished ones"), json],
  },
  {
    name: "create",
    aliases: ["add"],
    summary: "make a job",
    group: "automate",
    positionals: [
      { name: "SCHEDULE", summary: "when to run", required: true },
      { name: "PROMPT", summary: "what to do", required: false },
    ],
    flags: jobFlags,
  },
  {
    name: "edit",
    summary: "change a job",
    group: "automate",
    positionals: [job],
    flags: [
      ...jobFlags,
      text("schedule", "when to run", { value: "SCHEDULE" }),
      text("prompt", "what to do", { value: "TEXT" }),
      text("add-skill", "also load this skill", { value: "NAME", repeatable: true, complete: "skill" }),
      text("remove-skill", "no longer load this skill", { value: "NAME", repeatable: true, complete: "skill" }),
      toggle("clear-skills", "load no skills"),
      toggle("agent", "use the model again"),
    ],
  },
  { name: "pause", summary: "pause a job", group: "automate", positionals: [job] },
  { name: "resume", summary: "go on with a job", group: "automate", positionals: [job] },
  { name: "run", summary: "run a job now", group: "automate", positionals: [job] },
  { name: "remove", aliases: ["rm", "delete"], summary: "remove a job", group: "automate", positionals: [job] },
  { name: "status", summary: "show the scheduler", group: "automate" },
  { name: "tick", summary: "run the jobs that are due, once", group: "automate" },
]

/** Kanban verbs that take no more than a task; the sentence is the summary. */
const taskVerbs: readonly (readonly [name: string, summary: string])[] = [
  ["show", "show a task"],
  ["assign", "give a task to a profile"],
  ["reassign", "give a task to another profile"],
  ["reclaim", "take a task back from a lost worker"],
  ["edit", "change a task"],
  ["promote", "move a task forward"],
  ["schedule", "set when a task may start"],
  ["link", "make a task wait for another"],
  ["unlink", "remove such a link"],
  ["claim", "take a task"],
  ["comment", "add a comment"],
  ["complete", "finish a task"],
  ["block", "mark a task as blocked"],
  ["unblock", "mark a task as free again"],
  ["archive", "put a task away"],
  ["tail", "follow the log of a task"],
  ["heartbeat", "report that a worker lives"],
  ["runs", "list the runs of a task"],
  ["log", "show the log of a task"],
  ["context", "show what a worker is told"],
  ["specify", "let the model write the task out"],
  ["decompose", "let the model split the task"],
]

const kanbanCommands: readonly Command[] = [
  { name: "init", summary: "make the board", group: "automate" },
  {
    name: "boards",
    summary: "manage boards",
    group: "automate",
    subcommands: ["list", "create", "rm", "switch", "show", "rename", "set-default-workdir"].map((verb) => ({
      name: verb,
      summary: `${verb.replaceAll("-", " ")}: boards`,
      group: "automate" as const,
    })),
  },
  {
    name: "create",
    summary: "make a task",
    group: "automate",
    positionals: [{ name: "TITLE", summary: "what is to be done", required: true, rest: true }],
    flags: [
      text("permission-profile", "what the worker may do", { value: "NAME" }),
      toggle("require-plan", "the worker must have a plan approved first"),
      json,
    ],
  },
  { name: "list", summary: "list tasks", group: "automate", flags: [json] },
  ...taskVerbs.map(([name, summary]) => ({
    name,
    summary,
    group: "automate" as const,
    positionals: [task],
    flags: [json],
  })),
  { name: "swarm", summary: "let several workers share a goal", group: "automate" },
  { name: "watch", summary: "follow the board", group: "automate" },
  { name: "assignees", summary: "list who can take tasks", group: "automate", flags: [json] },
  {
    name: "dispatch",
    summary: "start workers for ready tasks, once",
    group: "automate",
    flags: [toggle("dry-run", "only say what would start"), json],
  },
  { name: "daemon", summary: "start workers for ready tasks, always", group: "automate" },
  { name: "stats", summary: "count tasks by state", group: "automate", flags: [json] },
  { name: "notify-subscribe", summary: "get messages about a task", group: "automate" },
  { name: "notify-list", summary: "list such subscriptions", group: "automate" },
  { name: "notify-unsubscribe", summary: "end a subscription", group: "automate" },
  { name: "diagnostics", summary: "look for problems", group: "automate", flags: [json] },
  {
    name: "plan",
    summary: "answer a worker's plan",
    group: "automate",
    subcommands: [
      { name: "approve", summary: "let the worker go on", group: "automate", positionals: [task] },
      { name: "revise", summary: "ask for changes", group: "automate", positionals: [task] },
      { name: "abort", summary: "stop the task", group: "automate", positionals: [task] },
    ],
  },
  {
    name: "gc",
    summary: "remove old events and logs",
    group: "automate",
    flags: [
      integer("event-retention-days", "keep younger events (30)", { value: "N", min: 0 }),
      integer("log-retention-days", "keep younger logs (30)", { value: "N", min: 0 }),
      json,
    ],
  },
]

const batchFlags: readonly Flag[] = [
  text("run-name", "name of the run", { value: "NAME" }),
  text("dataset-file", "the dataset, as in the P-edition", { value: "FILE", complete: "file" }),
  integer("batch-size", "prompts per batch", { value: "N", min: 1 }),
  text("distribution", "how toolsets are drawn (default)", { value: "NAME" }),
  text("model", "model to use", { value: "MODEL" }),
  text("base-url", "address of the provider", { value: "URL" }),
  text("api-key", "key for the provider", { value: "KEY" }),
  integer("max-turns", "model calls per prompt (10)", { value: "N", min: 1 }),
  integer("num-workers", "worker processes (4)", { value: "N", min: 1 }),
  integer("max-samples", "only the first N prompts", { value: "N", min: 1 }),
  toggle("resume", "skip what is finished"),
  toggle("list-distributions", "list distributions and end"),
  choice("reasoning-effort", "how hard to think", {
    of: ["none", "minimal", "low", "medium", "high", "xhigh"],
    conflictsWith: ["reasoning-disabled"],
  }),
  toggle("reasoning-disabled", "no reasoning"),
  toggle("keep-no-reasoning", "keep samples without reasoning"),
  integer("max-tokens", "tokens per answer", { value: "N", min: 1 }),
  text("providers-allowed", "only these providers", { value: "LIST" }),
  text("providers-ignored", "never these providers", { value: "LIST" }),
  text("providers-order", "providers in this order", { value: "LIST" }),
  text("providers-sort", "order providers by", { value: "KEY" }),
  text("prefill", "messages to begin with", { value: "FILE", complete: "file" }),
  text("ephemeral-system-prompt", "extra system prompt, not stored", { value: "TEXT" }),
  text("judge", "model that grades the answers", { value: "MODEL" }),
]

const dataset: Positional = {
  name: "DATASET",
  summary: "JSONL file with one prompt per line",
  required: false,
  complete: "file",
}
const suite: Positional = { name: "SUITE", summary: "file with the cases", required: false, complete: "file" }

const evalFlags: readonly Flag[] = [
  text("model", "model to test", { value: "MODEL", repeatable: true }),
  text("judge", "model that grades", { value: "MODEL" }),
  integer("judge-votes", "odd number of votes", { value: "N", min: 1 }),
  toggle("allow-self-judge", "a model may grade itself"),
  text("weights", "weights of the graders", { value: "LIST" }),
  integer("max-cases", "only the first N cases", { value: "N", min: 1 }),
  integer("parallel", "cases at the same time (2)", { value: "N", min: 1 }),
  decimal("fail-under", "pass rate below which the exit code is 1 (1.0)", { value: "RATE" }),
  json,
]

export const AUTOMATE_COMMANDS: readonly Command[] = [
  { name: "cron", summary: "run prompts on a schedule", group: "automate", subcommands: cronCommands },
  {
    name: "heartbeat",
    summary: "let the agent look after things by itself",
    group: "automate",
    subcommands: [
      { name: "now", summary: "run it now", group: "automate" },
      { name: "status", summary: "show when it ran", group: "automate" },
      { name: "on", summary: "switch it on", group: "automate" },
      { name: "off", summary: "switch it off", group: "automate" },
    ],
  },
  {
    name: "kanban",
    summary: "hand out tasks to workers",
    group: "automate",
    flags: [text("board", "use this board", { value: "NAME" })],
    subcommands: kanbanCommands,
  },
  {
    name: "batch",
    summary: "run a dataset of prompts",
    group: "automate",
    positionals: [dataset],
    flags: batchFlags,
    subcommands: [
      { name: "run", summary: "run a dataset", group: "automate", positionals: [dataset], flags: batchFlags },
      {
        name: "submit",
        summary: "queue a dataset for several machines",
        group: "automate",
        positionals: [dataset],
        flags: batchFlags,
      },
      { name: "export", summary: "collect the results of a queued run", group: "automate" },
    ],
  },
  {
    name: "trajectory",
    summary: "work with recorded runs",
    group: "automate",
    subcommands: [
      {
        name: "compress",
        summary: "shorten recorded runs",
        group: "automate",
        flags: [
          text("input", "file or directory", { value: "PATH", complete: "file" }),
          text("output", "where to write", { value: "PATH", complete: "file" }),
          text("config", "settings file", { value: "FILE", complete: "file" }),
          integer("target-max-tokens", "tokens to shrink to (15250)", { value: "N", min: 1 }),
          text("tokenizer", "tokenizer to count with", { value: "NAME" }),
          decimal("sample-percent", "share of the lines to take", { value: "PERCENT" }),
          integer("seed", "seed of the draw (42)", { value: "N" }),
          toggle("dry-run", "only say what would happen"),
        ],
      },
    ],
  },
  {
    name: "eval",
    summary: "test a model on a suite of tasks",
    group: "automate",
    positionals: [suite],
    flags: evalFlags,
    subcommands: [
      { name: "run", summary: "run a suite", group: "automate", positionals: [suite], flags: evalFlags },
      { name: "grade", summary: "grade a finished run again", group: "automate" },
      { name: "compare", summary: "compare two runs", group: "automate" },
      {
        name: "export",
        summary: "export a run",
        group: "automate",
        flags: [choice("format", "form of the export", { of: ["jsonl", "csv", "wandb"] })],
      },
    ],
  },
]
