import type { Command, Flag, Positional } from "../command.ts"
import { choice, decimal, integer, json, text, toggle } from "./flag.ts"

const job: Positional = { name: "ID", summary: "job id or name", required: true }
const task: Positional = { name: "ID", summary: "task id", required: true }

const jobFlags: readonly Flag[] = [
  text("name", "name of the job", { value: "NAME" }),
  text("deliver", "where to send the result", { value: "TARGET" }),
  integer("repeat", "run this many times", { value: "N", min: 1 }),
  text("skill", "load this skill", { value: "NAME", repeatable: true, complete: "skill" }),
  text("script", "run this script first", { value: "FILE", complete: "file" }),
  toggle("no-agent", "run only the script, without a model"),
  text("workdir", "working directory", { value: "DIR", complete: "directory" }),
]

const cronCommands: readonly Command[] = [
  {
    name: "list",
    summary: "list jobs",
    group: "automate",
    flags: [toggle("all", "include paused and finished jobs"), json],
  },
  {
    name: "create",
    aliases: ["add"],
    summary: "create a job",
    group: "automate",
    positionals: [
      { name: "SCHEDULE", summary: "when to run", required: true },
      { name: "PROMPT", summary: "what to do", required: false },
    ],
    flags: jobFlags,
  },
  {
    name: "edit",
    summary: "edit a job",
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
  { name: "resume", summary: "resume a job", group: "automate", positionals: [job] },
  { name: "run", summary: "run a job now", group: "automate", positionals: [job] },
  { name: "remove", aliases: ["rm", "delete"], summary: "remove a job", group: "automate", positionals: [job] },
  { name: "status", summary: "show the state of the scheduler", group: "automate" },
  { name: "tick", summary: "run all due jobs once", group: "automate" },
]

/** Kanban subcommands that take only a task. */
const taskVerbs: readonly (readonly [name: string, summary: string])[] = [
  ["show", "show a task"],
  ["assign", "assign a task to a profile"],
  ["reassign", "assign a task to another profile"],
  ["reclaim", "reclaim a task from a lost worker"],
  ["edit", "edit a task"],
  ["promote", "move a task to the next state"],
  ["schedule", "set the earliest start of a task"],
  ["link", "make a task depend on another"],
  ["unlink", "remove a dependency"],
  ["claim", "claim a task"],
  ["comment", "add a comment"],
  ["complete", "mark a task as done"],
  ["block", "mark a task as blocked"],
  ["unblock", "remove the blocked mark of a task"],
  ["archive", "archive a task"],
  ["tail", "follow the log of a task"],
  ["heartbeat", "report that a worker is alive"],
  ["runs", "list the runs of a task"],
  ["log", "show the log of a task"],
  ["context", "show the prompt of a worker"],
  ["specify", "let the model write a full description"],
  ["decompose", "let the model split a task"],
]

const kanbanCommands: readonly Command[] = [
  { name: "init", summary: "create the board", group: "automate" },
  {
    name: "boards",
    summary: "manage boards",
    group: "automate",
    subcommands: ["list", "create", "rm", "switch", "show", "rename", "set-default-workdir"].map((verb) => ({
      name: verb,
      summary: `boards: ${verb.replaceAll("-", " ")}`,
      group: "automate" as const,
    })),
  },
  {
    name: "create",
    summary: "create a task",
    group: "automate",
    positionals: [{ name: "TITLE", summary: "title of the task", required: true, rest: true }],
    flags: [
      text("permission-profile", "permissions of the worker", { value: "NAME" }),
      toggle("require-plan", "require an approved plan before the worker starts"),
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
  { name: "swarm", summary: "let several workers work on one goal", group: "automate" },
  { name: "watch", summary: "follow the board", group: "automate" },
  { name: "assignees", summary: "list the profiles that can take tasks", group: "automate", flags: [json] },
  {
    name: "dispatch",
    summary: "start workers for ready tasks once",
    group: "automate",
    flags: [toggle("dry-run", "only print what would start"), json],
  },
  { name: "daemon", summary: "keep starting workers for ready tasks", group: "automate" },
  { name: "stats", summary: "count tasks by state", group: "automate", flags: [json] },
  { name: "notify-subscribe", summary: "subscribe to notifications about a task", group: "automate" },
  { name: "notify-list", summary: "list subscriptions", group: "automate" },
  { name: "notify-unsubscribe", summary: "unsubscribe", group: "automate" },
  { name: "diagnostics", summary: "check for problems", group: "automate", flags: [json] },
  {
    name: "plan",
    summary: "review the plan of a worker",
    group: "automate",
    subcommands: [
      { name: "approve", summary: "approve the plan", group: "automate", positionals: [task] },
      { name: "revise", summary: "request changes", group: "automate", positionals: [task] },
      { name: "abort", summary: "stop the task", group: "automate", positionals: [task] },
    ],
  },
  {
    name: "gc",
    summary: "remove old events and logs",
    group: "automate",
    flags: [
      integer("event-retention-days", "days to keep events (30)", { value: "N", min: 0 }),
      integer("log-retention-days", "days to keep logs (30)", { value: "N", min: 0 }),
      json,
    ],
  },
]

const batchFlags: readonly Flag[] = [
  text("run-name", "name of the run", { value: "NAME" }),
  text("dataset-file", "the dataset, for scripts of the Python edition", { value: "FILE", complete: "file" }),
  integer("batch-size", "prompts per batch", { value: "N", min: 1 }),
  text("distribution", "how toolsets are sampled (default)", { value: "NAME" }),
  text("model", "model to use", { value: "MODEL" }),
  text("base-url", "base URL of the provider", { value: "URL" }),
  text("api-key", "API key for the provider", { value: "KEY" }),
  integer("max-turns", "model calls per prompt (10)", { value: "N", min: 1 }),
  integer("num-workers", "worker processes (4)", { value: "N", min: 1 }),
  integer("max-samples", "run only the first N prompts", { value: "N", min: 1 }),
  toggle("resume", "skip finished prompts"),
  toggle("list-distributions", "list distributions and exit"),
  choice("reasoning-effort", "reasoning effort", {
    of: ["none", "minimal", "low", "medium", "high", "xhigh"],
    conflictsWith: ["reasoning-disabled"],
  }),
  toggle("reasoning-disabled", "turn reasoning off"),
  toggle("keep-no-reasoning", "keep samples without reasoning"),
  integer("max-tokens", "tokens per answer", { value: "N", min: 1 }),
  text("providers-allowed", "use only these providers", { value: "LIST" }),
  text("providers-ignored", "never use these providers", { value: "LIST" }),
  text("providers-order", "try providers in this order", { value: "LIST" }),
  text("providers-sort", "sort providers by", { value: "KEY" }),
  text("prefill", "messages to start with", { value: "FILE", complete: "file" }),
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
  integer("judge-votes", "number of votes, odd", { value: "N", min: 1 }),
  toggle("allow-self-judge", "allow a model to grade itself"),
  text("weights", "weights of the graders", { value: "LIST" }),
  integer("max-cases", "run only the first N cases", { value: "N", min: 1 }),
  integer("parallel", "cases to run in parallel (2)", { value: "N", min: 1 }),
  decimal("fail-under", "pass rate below which the exit code is 1 (1.0)", { value: "RATE" }),
  json,
]

export const AUTOMATE_COMMANDS: readonly Command[] = [
  { name: "cron", summary: "run prompts on a schedule", group: "automate", subcommands: cronCommands },
  {
    name: "heartbeat",
    summary: "let the agent check for work on its own",
    group: "automate",
    subcommands: [
      { name: "now", summary: "run the heartbeat now", group: "automate" },
      { name: "status", summary: "show the last runs", group: "automate" },
      { name: "on", summary: "turn it on", group: "automate" },
      { name: "off", summary: "turn it off", group: "automate" },
    ],
  },
  {
    name: "kanban",
    summary: "assign tasks to workers",
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
          text("output", "output path", { value: "PATH", complete: "file" }),
          text("config", "settings file", { value: "FILE", complete: "file" }),
          integer("target-max-tokens", "tokens to shrink to (15250)", { value: "N", min: 1 }),
          text("tokenizer", "tokenizer to count with", { value: "NAME" }),
          decimal("sample-percent", "percentage of lines to sample", { value: "PERCENT" }),
          integer("seed", "random seed (42)", { value: "N" }),
          toggle("dry-run", "only print what would happen"),
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
        flags: [choice("format", "export format", { of: ["jsonl", "csv", "wandb"] })],
      },
    ],
  },
]
