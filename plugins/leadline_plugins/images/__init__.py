"""Pictures found on pages: choosing those that fit the report (`choosing`), checking their bytes (`checking`)."""
