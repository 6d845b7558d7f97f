//! Enums whose values are words of a fixed list: what people write, what JSON and SQL hold, and what errors offer.

/// Whether capitals matter in what people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `Pod` is not `pod`.
    Exact,
    /// `Pod` is `pod`.
    Ignored,
}

/// Finds the value of a word among `all`; `what` names the list in the error.
///
/// # Errors
/// When there is none, with the list.
pub fn find<T: Copy>(
    all: &[T],
    as_str: impl Fn(T) -> &'static str,
    (what, case): (&str, Case),
    text: &str,
) -> Result<T, String> {
    let is_meant = |value: &T| match case {
        Case::Exact => as_str(*value) == text,
        Case::Ignored => as_str(*value).eq_ignore_ascii_case(text),
    };
    all.iter().copied().find(is_meant).ok_or_else(|| {
        let words: Vec<&str> = all.iter().map(|value| as_str(*value)).collect();
        format!("invalid {what} `{text}`; use one of {}", words.join(", "))
    })
}

/// Gives an enum its words: `ALL`, `as_str`, `Display`, and `FromStr` with an error that lists them. A value that is left
/// out does not compile.
///
/// ```
/// #[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// enum Order {
///     Newest,
///     Oldest,
/// }
///
/// strandline_syntax::keywords!(Order, "order", Exact, Newest => "newest", Oldest => "oldest");
///
/// assert_eq!("oldest".parse(), Ok(Order::Oldest));
/// assert_eq!("last".parse::<Order>(), Err("invalid order `last`; use one of newest, oldest".to_owned()));
/// assert_eq!(Order::ALL.map(Order::as_str), ["newest", "oldest"]);
/// ```
#[macro_export]
macro_rules! keywords {
    ($type:ident, $what:literal, $case:ident, $($value:ident => $word:literal),+ $(,)?) => {
        impl $type {
            /// All values, in the order in which they are declared.
            pub const ALL: [$type; [$($word),+].len()] = [$($type::$value),+];

            /// The word for it in JSON, in SQL, on pages and on the command line.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($type::$value => $word),+
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> ::std::result::Result<Self, Self::Err> {
                $crate::keywords::find(&Self::ALL, Self::as_str, ($what, $crate::keywords::Case::$case), text)
            }
        }
    };
}
