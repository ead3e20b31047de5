/** How to format answers for a platform; empty for platforms without special rules. */
export function platformHint(platform: string): string {
  return Object.hasOwn(PLATFORM_HINTS, platform) ? (PLATFORM_HINTS[platform] ?? "") : ""
}

const MEDIA = "MEDIA:/absolute/path in your reply sends that file"
const PLAIN = "Markdown is not shown: write plain text"

/** By platform key. They are part of every request, so they are short. */
export const PLATFORM_HINTS: Readonly<Record<string, string>> = {
  cli: "You answer in a terminal: plain text, little Markdown. Files cannot be attached and MEDIA: tags do nothing; name files by absolute path.",
  cron:
    "You run on a schedule without a user: ask nothing, decide sensibly and finish. Your final text is delivered automatically, " +
    "so write only what the reader needs.",
  telegram:
    "You answer in a Telegram chat. Markdown is converted: bold, italic, strikethrough, spoilers, code, quotes and links; tables " +
    `and task lists become bullets. ${MEDIA}: images as photos, .ogg as a voice message, .mp4 inline. Image URLs work too.`,
  whatsapp: `You answer in a WhatsApp chat. ${PLAIN}. ${MEDIA}: images and videos inline, audio as a voice message, the rest as documents.`,
  whatsapp_cloud:
    `You answer in a WhatsApp chat (Cloud API). Markdown is converted, without tables. ${MEDIA}. Free text is only accepted within ` +
    "24 hours of the user's last message; error 131047 means that this time is over.",
  signal: `You answer in a Signal chat. ${PLAIN}. ${MEDIA} as an attachment.`,
  bluebubbles: `You answer in iMessage. ${PLAIN}, short as a text message. ${MEDIA} as an attachment.`,
  discord: `You answer in a Discord channel or message. Discord's Markdown works, tables do not; messages hold 2,000 characters. ${MEDIA} as an attachment.`,
  slack: `You answer in Slack. Markdown is converted to Slack's own; tables do not work. ${MEDIA} as an upload.`,
  mattermost: `You answer in Mattermost. Markdown works, tables included. ${MEDIA} as an attachment.`,
  matrix: `You answer in a Matrix room. Markdown is converted to HTML. ${MEDIA}: images, audio and video inline.`,
  feishu: `You answer in a Feishu (Lark) chat. Simple Markdown works: bold, lists, links, code. ${MEDIA}: images inline.`,
  weixin: `You answer in a WeChat chat. Simple Markdown is converted; keep it compact. ${MEDIA}: images and videos inline.`,
  qqbot: `You answer in a QQ chat. Simple Markdown works. ${MEDIA}: images, voice and video inline.`,
  wecom: `You answer in WeCom. Markdown works. You may send files: ${MEDIA}; images up to 10 MB, files up to 20 MB, voice only as AMR.`,
  yuanbao: `You answer in Yuanbao. Markdown works. ${MEDIA}, up to 50 MB. Send stickers only with the sticker tools.`,
  email:
    "You answer by e-mail: plain text, in clear paragraphs, without needless greetings or sign-offs. " +
    `${MEDIA} as an attachment.`,
  sms: "You answer by text message: plain text, brief, about 1,600 characters at most. Files cannot be sent.",
  api_server: "You answer through an API and do not know how the text is shown: write plain, conversational text.",
  webui: `You answer in a web page with full Markdown: tables, code, LaTeX, Mermaid diagrams. ${MEDIA}; URLs work as well as local paths.`,
}
