import type { App } from "../app/app.ts"
import type { Session } from "../app/session/session.ts"
import { ellipsize } from "../base/text.ts"
import { errorMessage } from "../base/system-error.ts"
import type { PromptCommand, PromptSource } from "../admin/own-commands/prompt-commands.ts"
import { reply, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** A command of the user: a quick command of the settings, or a prompt in a file. */
export interface OwnCommand {
  readonly name: string
  readonly help: string
  readonly argument?: string
}

/** All of them, quick commands first. */
export async function listOwnCommands(
  app: Pick<App, "config" | "home">,
  session: Pick<Session, "facts">,
): Promise<readonly OwnCommand[]> {
  const [{ listPromptCommands, readPromptCommand }, { listQuickCommands }] = await Promise.all([
    import("../admin/own-commands/prompt-commands.ts"),
    import("../admin/own-commands/quick-commands.ts"),
  ])
  const quick = listQuickCommands(app.config).map((command): OwnCommand => {
    if (command.kind === "exec")
      return { name: command.name, help: `runs ${ellipsize(command.command, MAX_HELP_CHARS)}` }
    if (command.kind === "alias") return { name: command.name, help: `the same as ${asLine(command.target)}` }
    return { name: command.name, help: command.problem }
  })
  const prompts = listPromptCommands(foldersOf(app, session)).map((command): OwnCommand => {
    try {
      const { description, argumentHint } = readPromptCommand(command)
      const help = `${ellipsize(description.replaceAll(/\s+/gu, " "), MAX_HELP_CHARS)} (${SOURCES[command.source]})`
      return { name: command.name, help, ...(argumentHint === undefined ? {} : { argument: argumentHint }) }
    } catch (error) {
      return { name: command.name, help: `cannot be read: ${errorMessage(error)}` }
    }
  })
  return [...quick, ...prompts]
}

const MAX_HELP_CHARS = 80

const SOURCES: Readonly<Record<PromptSource, string>> = {
  home: "your prompt",
  project: "a prompt of this project",
  "claude-code": "your prompt for Claude Code",
  codex: "your prompt for Codex",
}

/** Runs a quick command; undefined when none has this name. `redispatch` runs another line. */
export async function runQuick(
  name: string,
  argument: string,
  {
    context,
    redispatch,
  }: { readonly context: SlashContext; readonly redispatch: (line: string) => Promise<SlashOutcome> },
): Promise<SlashOutcome | undefined> {
  const { app, session, signal } = context
  if (Object.keys(app.config.get("quick_commands")).length === 0) return undefined
  const { listQuickCommands, runQuickCommand } = await import("../admin/own-commands/quick-commands.ts")
  const command = listQuickCommands(app.config).find((each) => each.name === name)
  if (command === undefined) return undefined
  if (command.kind === "invalid") return reply(`${command.problem}. Change it with \`hermes config edit\`.`)
  if (command.kind === "alias") return await redispatch(`${asLine(command.target)} ${argument}`.trim())
  const output = await runQuickCommand(command, {
    words: argument.split(/\s+/u).filter((word) => word !== ""),
    cwd: session.facts.cwd,
    environment: app.environment.toObject(),
    signal,
  })
  return reply(app.redactor.redact(output))
}

/** Sends a prompt of a file; undefined when no file has this name. */
export async function runPromptFile(
  name: string,
  argument: string,
  context: SlashContext,
): Promise<SlashOutcome | undefined> {
  const { app, session, note } = context
  const { fillPrompt, listPromptCommands, readPromptCommand } = await import("../admin/own-commands/prompt-commands.ts")
  const command = listPromptCommands(foldersOf(app, session)).find((each) => each.name === name)
  if (command === undefined) return undefined
  try {
    const content = readPromptCommand(command)
    const text = fillPrompt(content.body, argument)
    if (text.trim() === "") return reply(`${command.path} is empty. Write the prompt into it.`)
    // The user sees what is sent in their name, above all from a project.
    note?.(shownPrompt(command, text))
    if (content.model !== undefined) {
      const { modelCommand } = await import("./model.ts")
      const switched = await modelCommand.run(content.model, context)
      if (switched.kind === "reply") note?.(switched.text)
    }
    return { kind: "send", text }
  } catch (error) {
    return reply(`${command.path} cannot be used: ${errorMessage(error)}.`)
  }
}

const MAX_SHOWN_LINES = 12

function shownPrompt({ path, source }: PromptCommand, text: string): string {
  const lines = text.split("\n")
  const more = lines.length > MAX_SHOWN_LINES ? [`… ${lines.length - MAX_SHOWN_LINES} more lines`] : []
  return [`From ${path} (${SOURCES[source]}):`, ...lines.slice(0, MAX_SHOWN_LINES), ...more].join("\n")
}

function asLine(target: string): string {
  return target.startsWith("/") ? target : `/${target}`
}

function foldersOf({ home }: Pick<App, "home">, { facts }: Pick<Session, "facts">) {
  return { homePath: home.path, userHome: home.userHome, cwd: facts.cwd }
}
