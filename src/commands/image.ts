import { readAttachedImage } from "../app/services/attached-image.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/image`: attaches an image to the next message. */
export const imageCommand: SlashCommand = {
  name: "image",
  help: "attach an image to your next message",
  argument: "PATH",
  run: attachImage,
}

async function attachImage(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  if (argument.trim() === "") return reply("Usage: /image PATH.")
  const image = await readAttachedImage(argument, { cwd: session.facts.cwd, userHome: app.home.userHome })
  if (!image.ok) return reply(`The image was not attached: ${image.error}.`)
  const { name, part, width, height } = image.value
  return { kind: "attach", part, text: `Attached ${name} (${width}×${height}) to your next message.` }
}
