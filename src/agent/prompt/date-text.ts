/** Only the day, so that the prompt is the same for all sessions of a day. Without `Intl`, because loading it takes 10 ms. */
export function dateText(facts: {
  readonly startedAt: Date
  readonly sessionId?: string
  readonly model: string
  readonly provider?: string
}): string {
  const { startedAt: date } = facts
  const day = String(date.getDate()).padStart(2, "0")
  const started = `${WEEKDAYS[date.getDay()] ?? ""}, ${MONTHS[date.getMonth()] ?? ""} ${day}, ${date.getFullYear()}`
  return [
    `Conversation started: ${started}`,
    labelled("Session ID", facts.sessionId),
    labelled("Model", facts.model),
    labelled("Provider", facts.provider),
  ]
    .filter((line) => line !== "")
    .join("\n")
}

function labelled(label: string, value: string | undefined): string {
  return value === undefined || value === "" ? "" : `${label}: ${value}`
}

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
]
