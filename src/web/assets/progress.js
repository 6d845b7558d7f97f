// Shows the page anew while something goes on, but not to somebody who is typing. Without this script a link does the same.
"use strict";

setInterval(() => {
  if (!document.activeElement?.closest("form")) location.reload();
}, 2000);
