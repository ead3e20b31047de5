import { expect, test } from "vitest"

import { PLATFORM_HINTS, platformHint } from "./platform-hints.ts"

/** What the model must learn about each platform, as words that its hint holds. */
test.each<[string, readonly string[]]>([
  ["cli", ["terminal", "plain text", "MEDIA:", "absolute path"]],
  ["cron", ["nobody", "ask nothing", "finish", "delivered by itself"]],
  ["telegram", ["Markdown is converted", "bullets", "MEDIA:/absolute/path", "photos", ".ogg", ".mp4", "Image URLs"]],
  ["whatsapp", ["plain text", "MEDIA:/absolute/path"]],
  ["signal", ["plain text", "MEDIA:/absolute/path"]],
  ["bluebubbles", ["plain text", "MEDIA:/absolute/path"]],
  ["whatsapp_cloud", ["Markdown is converted", "without tables", "MEDIA:/absolute/path", "24 hours", "131047"]],
  ["discord", ["Markdown", "MEDIA:/absolute/path"]],
  ["slack", ["Markdown", "MEDIA:/absolute/path"]],
  ["mattermost", ["Markdown", "MEDIA:/absolute/path"]],
  ["matrix", ["Markdown", "MEDIA:/absolute/path"]],
  ["feishu", ["Markdown", "MEDIA:/absolute/path"]],
  ["weixin", ["Markdown", "MEDIA:/absolute/path"]],
  ["qqbot", ["Markdown", "MEDIA:/absolute/path"]],
  ["wecom", ["Markdown", "10 MB", "20 MB", "AMR", "may send files"]],
  ["yuanbao", ["Markdown", "50 MB", "sticker tools"]],
  ["email", ["plain text", "attachment", "greetings"]],
  ["sms", ["plain text", "brief", "1,600"]],
  ["api_server", ["plain, conversational text"]],
  ["webui", ["full Markdown", "LaTeX", "Mermaid", "MEDIA:/absolute/path", "URLs"]],
])("%s", (platform, words) => {
  expect(words.filter((word) => !platformHint(platform).includes(word))).toEqual([])
})

test("the table is complete, and an unknown platform has what its plugin says", () => {
  expect(Object.keys(PLATFORM_HINTS)).toHaveLength(20)
  expect([platformHint("toString"), platformHint("other", "from the plugin"), platformHint("cli", "x")]).toEqual([
    "",
    "from the plugin",
    PLATFORM_HINTS["cli"],
  ])
})
