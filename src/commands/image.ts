import { readAttachedImage } from "../app/services/attached-image.ts"
import type { AttachedImage } from "../app/services/attached-image.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/image`: attaches an image to the next message. */
export const imageCommand: SlashCommand = {
  name: "image",
  category: "conversation",
  help: "attach an image to your next message",
  argument: "PATH",
  run: attachImage,
}

/** `/paste`: attaches the image of the clipboard. */
export const pasteCommand: SlashCommand = {
  name: "paste",
  category: "conversation",
  help: "attach the image on the clipboard to your next message",
  run: async (_argument, { app, signal }) => {
    const { readClipboardContent } = await import("../admin/editor-support/clipboard-content.ts")
    const content = await readClipboardContent({ ...app, orText: false, signal })
    if (!content.ok) return reply(content.error)
    return content.value.kind === "image"
      ? attached(content.value.image)
      : reply("The clipboard has no image. Copy one, or attach a file with /image PATH.")
  },
}

async function attachImage(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  if (argument.trim() === "") return reply("Usage: /image PATH.")
  const image = await readAttachedImage(argument, { cwd: session.facts.cwd, userHome: app.home.userHome })
  return image.ok ? attached(image.value) : reply(`The image was not attached: ${image.error}.`)
}

function attached({ name, part, width, height }: AttachedImage): SlashOutcome {
  return { kind: "attach", part, text: `Attached ${name} (${width}×${height}) to your next message.` }
}
