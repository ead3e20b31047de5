import { readAttachedImage } from "./attached-image.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/image`: an image that goes with the next message. */
export const imageCommand: SlashCommand = {
  name: "image",
  help: "attach an image to your next message",
  argument: "PATH",
  run: attach,
}

async function attach(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  if (argument.trim() === "") return { kind: "say", text: "Say which image: /image PATH." }
  const image = await readAttachedImage(argument, { cwd: session.facts.cwd, userHome: app.home.userHome })
  if (!image.ok) return { kind: "say", text: `Not attached: ${image.error}.` }
  const { name, part, width, height } = image.value
  return { kind: "attach", part, text: `Attached ${name} (${width}×${height}). It goes with your next message.` }
}
