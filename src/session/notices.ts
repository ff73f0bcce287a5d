/** What the turn rules have to say to a person, in words. */

import { type Language, type SentenceKey, sentence, t } from "../locale/index.ts";
import type { Notice } from "../turn/machine.ts";

export function noticeWords(notice: Notice, language: Language): string {
  return notice.kind === "retry"
    ? sentence(
        `notice.retry.${notice.failure.kind}` as SentenceKey,
        { seconds: notice.ms / 1000, attempt: notice.attempt, attempts: notice.attempts },
        language,
      )
    : notice.kind === "waiting"
      ? t(`notice.waiting.${notice.behind}`, {}, language)
      : t(`notice.${notice.kind}`, {}, language);
}
