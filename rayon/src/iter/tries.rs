//! Values that show whether a loop continues: `Option`, `Result`, `ControlFlow`, and `Poll` of
//! results.

use std::{convert::Infallible, ops::ControlFlow, task::Poll};

/// A value that is a success or a failure, like std's unstable trait `Try`.
pub trait Try {
    /// The value of a success.
    type Output;
    /// The reason of a failure.
    type Residual;

    /// Makes a success.
    fn from_output(output: Self::Output) -> Self;

    /// Makes a failure.
    fn from_residual(residual: Self::Residual) -> Self;

    /// Separates a success from a failure.
    fn branch(self) -> ControlFlow<Self::Residual, Self::Output>;
}

impl<T> Try for Option<T> {
    type Output = T;
    type Residual = Option<Infallible>;

    fn from_output(output: T) -> Self {
        Some(output)
    }

    fn from_residual(_: Option<Infallible>) -> Self {
        None
    }

    fn branch(self) -> ControlFlow<Option<Infallible>, T> {
        match self {
            Some(output) => ControlFlow::Continue(output),
            None => ControlFlow::Break(None),
        }
    }
}

impl<T, E> Try for Result<T, E> {
    type Output = T;
    type Residual = Result<Infallible, E>;

    fn from_output(output: T) -> Self {
        Ok(output)
    }

    fn from_residual(residual: Result<Infallible, E>) -> Self {
        residual.map(|never| match never {})
    }

    fn branch(self) -> ControlFlow<Result<Infallible, E>, T> {
        match self {
            Ok(output) => ControlFlow::Continue(output),
            Err(error) => ControlFlow::Break(Err(error)),
        }
    }
}

impl<B, C> Try for ControlFlow<B, C> {
    type Output = C;
    type Residual = ControlFlow<B, Infallible>;

    fn from_output(output: C) -> Self {
        Self::Continue(output)
    }

    fn from_residual(residual: ControlFlow<B, Infallible>) -> Self {
        match residual {
            ControlFlow::Break(why) => Self::Break(why),
            ControlFlow::Continue(never) => match never {},
        }
    }

    fn branch(self) -> ControlFlow<ControlFlow<B, Infallible>, C> {
        match self {
            Self::Continue(output) => ControlFlow::Continue(output),
            Self::Break(why) => ControlFlow::Break(ControlFlow::Break(why)),
        }
    }
}

impl<T, E> Try for Poll<Result<T, E>> {
    type Output = Poll<T>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<T>) -> Self {
        output.map(Ok)
    }

    fn from_residual(residual: Result<Infallible, E>) -> Self {
        Self::Ready(Result::from_residual(residual))
    }

    fn branch(self) -> ControlFlow<Result<Infallible, E>, Poll<T>> {
        match self {
            Self::Pending => ControlFlow::Continue(Poll::Pending),
            Self::Ready(Ok(output)) => ControlFlow::Continue(Poll::Ready(output)),
            Self::Ready(Err(error)) => ControlFlow::Break(Err(error)),
        }
    }
}

impl<T, E> Try for Poll<Option<Result<T, E>>> {
    type Output = Poll<Option<T>>;
    type Residual = Result<Infallible, E>;

    fn from_output(output: Poll<Option<T>>) -> Self {
        output.map(|output| output.map(Ok))
    }

    fn from_residual(residual: Result<Infallible, E>) -> Self {
        Self::Ready(Some(Result::from_residual(residual)))
    }

    fn branch(self) -> ControlFlow<Result<Infallible, E>, Poll<Option<T>>> {
        match self {
            Self::Pending => ControlFlow::Continue(Poll::Pending),
            Self::Ready(None) => ControlFlow::Continue(Poll::Ready(None)),
            Self::Ready(Some(Ok(output))) => ControlFlow::Continue(Poll::Ready(Some(output))),
            Self::Ready(Some(Err(error))) => ControlFlow::Break(Err(error)),
        }
    }
}
