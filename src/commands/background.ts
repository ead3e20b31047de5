import { compactDuration } from "../base/compact-count.ts"
import { ellipsize } from "../base/text.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/background`: gives a task to an agent of its own, in a session of its own. */
export const backgroundCommand: SlashCommand = {
  name: "background",
  aliases: ["bg", "btw"],
  category: "conversation",
  help: "run a task in a separate session while you go on",
  argument: "[PROMPT | stop N]",
  details:
    "It has the same model, tools, permissions and directory, and knows only the prompt. Its result is shown when it is ready.",
  run: startOrList,
}

async function startOrList(argument: string, { app, background }: SlashContext): Promise<SlashOutcome> {
  if (background === undefined)
    return reply("Background tasks need a conversation on a terminal. Start one with `hermes`.")
  const prompt = argument.trim()
  const stopped = /^stop\s+(\d{1,6})$/iu.exec(prompt)?.[1]
  if (stopped !== undefined)
    return reply(background.stop(Number(stopped)) ? `Stopping task ${stopped}.` : `Task ${stopped} is not running.`)
  if (prompt !== "") return reply(`Task ${await background.start(prompt)} is running. Its result is shown here.`)
  const tasks = background.list()
  if (tasks.length === 0) return reply("No background task is running. /background PROMPT starts one.")
  const now = app.clock.now()
  return reply(
    tasks
      .map(({ number, prompt: task, startedAt }) => {
        const shown = ellipsize(task.replaceAll(/\s+/gu, " "), 80)
        return `${number}. ${shown}  (${compactDuration((now - startedAt) / 1000)})`
      })
      .join("\n"),
  )
}
